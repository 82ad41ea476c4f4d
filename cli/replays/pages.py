"""A match in a terminal: its scenes (`engine.scenes`) by round, the time of each reply, and pictures of the table.

The words and the sheet at the end are those of the site. A game adds what words do not show: the state before and after
a round. Transcripts shown here were verified, so their events have their game's form. The bots' output is still
untrusted text: it passes through `visible` into `rich.text.Text`, which knows no markup.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deadheat.cli.console import short
from deadheat.cli.local.transcripts import players
from deadheat.engine import scenes
from deadheat.engine.core import NS_PER_MS, Seat
from deadheat.engine.figures import duration, seat_number, signed, visible
from deadheat.engine.games.folder import Parts
from deadheat.engine.scenes import Scene
from deadheat.engine.scenes.core import Answer
from deadheat.engine.transcript import Exchange, Transcript
from deadheat.engine.verdicts import took

NAME_WIDTH = 16
COLUMN_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a match that is shown at once. `round` 0 is before the first; None is the end."""

    round: int | None
    content: RenderableType


Picture = Callable[[Mapping[str, Any], Sequence[str]], RenderableType | None]
"""A function that draws a scene's state, given the names by seat, if there is anything to draw."""

Account = Callable[[Transcript, Seat], RenderableType]
"""A function that shows where a seat won and lost its points in a verified transcript."""


@dataclass(frozen=True, slots=True)
class View:
    """A game's additions to the words of its scenes. `before` and `after` draw a round's first and last state;
    `account` says more about a seat than the sheet does.
    """

    before: Picture = lambda *_: None
    after: Picture = lambda *_: None
    account: Account | None = None
    once_a_round: Mapping[str, int] = field(default_factory=dict)
    """Commands that a seat gets once in every round, each with the first round in which it comes."""


VIEWS: Mapping[str, View] = Parts("terminal", "VIEW")
"""Views by the game's name."""


def pages(transcript: Transcript, view: View) -> Iterator[Page]:
    names = [_named(transcript, seat, NAME_WIDTH) for seat in range(transcript.seats)]
    *played, last = scenes.scenes(transcript, names)
    answered: set[tuple[int, Seat]] = set()  # seats whose answer in an exchange was already shown
    for number, group in groupby(played, key=lambda scene: scene.round or 0):
        yield Page(number, Group(*_round(number, list(group), view, names, answered), Text()))
    yield Page(None, Group(*sheet(transcript), Text(last.words, style="bold")))


def _round(
    number: int, group: Sequence[Scene], view: View, names: Sequence[str], answered: set[tuple[int, Seat]]
) -> Iterator[RenderableType]:
    yield Text(f"Round {number}" if number else "Before round 1", style="bold")
    if (before := view.before(group[0].state, names)) is not None:
        yield before
    for scene in group:
        new = [a for a in scene.answers if a.command != "READY" and (scene.exchange, a.seat) not in answered]
        answered |= {(scene.exchange, answer.seat) for answer in new}
        words = Text(visible(scene.words), style="" if scene.fault is None else "bold red")
        yield Padding(words.append(_took(new), style="not bold default"), (0, 0, 0, 2), expand=False)
    if (after := view.after(group[-1].state, names)) is not None:
        yield after


def _took(answers: Sequence[Answer]) -> str:
    """Return the duration of each answer, followed by a plus sign and the time that the host took."""
    shown = []
    for answer in answers:
        own_ns, stolen_ns = ((answer.elapsed_ms - answer.stolen_ms) * NS_PER_MS, answer.stolen_ms * NS_PER_MS)
        taken = f" + {duration(round(stolen_ns))}" if stolen_ns else ""
        whose = f"{seat_number(answer.seat)}: " if len(answers) > 1 else ""
        shown.append(f"{whose}{duration(round(own_ns))}{taken}")
    return f"   {', '.join(shown)}" if shown else ""


def _named(transcript: Transcript, seat: Seat, width: int = COLUMN_WIDTH) -> str:
    return f"{seat_number(seat)} {short(players(transcript)[seat], width)}"


def sheet(transcript: Transcript, own: Seat | None = None) -> Iterator[Table]:
    """Yield a table of both seats' points, if the game has one; with `own`, that seat first and the difference last."""
    rows = scenes.sheet(transcript)
    if not rows:
        return
    order = (0, 1) if own is None else (own, 1 - own)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for seat in order:
        table.add_column(Text(_named(transcript, seat)), justify="right", no_wrap=True, min_width=14)
    if own is not None:
        table.add_column("difference", justify="right")
    for name, cells, values in rows:
        row: list[RenderableType] = [cells[seat] for seat in order]
        if own is not None:
            gap = values[own] - values[1 - own] if values else 0
            style = "red" if gap < 0 else "green" if gap > 0 else ""
            row.append(Text(signed(gap) if values else "", style))
        table.add_row(name, *row, style="bold" if name == "total" else "")
    yield table


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
        line = visible(reply.line) if reply.line is not None else f"({reply.fault})"
        yield Text(f"  seat {seat_number(seat)} >> {line}   {took(reply)}")
