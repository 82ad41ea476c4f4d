"""A match of any game in a terminal: every line and event, exchange by exchange, as recorded.

The transcript may be of an unknown game, or break the rules: nothing in it is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from deadheat.cli.replays.pages import Page
from deadheat.engine.figures import seat_number
from deadheat.engine.transcript import Exchange, Transcript
from deadheat.engine.verdicts import took
from deadheat.engine.visible import visible


def plain_pages(transcript: Transcript) -> Iterator[Page]:
    """Yield a page per exchange, with the exchange's number, because there may be no rounds."""
    for number, exchange in enumerate(transcript.exchanges):
        yield Page(number, Group(Text(f"Exchange {number}", style="bold"), *_exchange(exchange), Text()))
    result = transcript.result
    faults = ", ".join(f"{fault} of seat {seat_number(seat)}" for seat, fault in sorted(result.faults.items()))
    points = "no points" if result.points is None else f"points {', '.join(map(str, result.points))}"
    yield Page(None, Text(f"Ranks {', '.join(map(str, result.ranks))}; {points}{'; ' + faults if faults else ''}."))


def _exchange(exchange: Exchange) -> Iterator[Text]:
    for event in exchange.events:
        yield Text(f"  {visible(json.dumps(event, separators=(', ', ': ')))}")
    for message in exchange.messages:
        yield Text(f"  seat {seat_number(message.seat)} << {visible(message.line)}")
    for seat, reply in sorted(exchange.replies.items()):
        said = visible(reply.line) if reply.line is not None else f"({reply.fault})"
        yield Text(f"  seat {seat_number(seat)} >> {said}   {took(reply)}")
