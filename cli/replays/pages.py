"""What a renderer of matches makes, and what renderers share.

A renderer gets a transcript that was verified, so its events have the form that the game's module gives them. What
bots wrote is still somebody else's text: it goes through `visible` into `rich.text.Text`, which knows no markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cli.console import short, visible
from engine.core import Event, Reply, Seat
from engine.figures import duration, seat_number
from engine.transcript import Transcript

NAME_WIDTH = 16
COLUMN_WIDTH = 20

BY_THE_COIN = Text(f"{'':21}equal bids for the same: the coin decides")


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a match to be shown at once. `round` 0: before the first; None: the end."""

    round: int | None
    content: RenderableType


Renderer = Callable[[Transcript], Iterator[Page]]
"""From a verified transcript to its pages, in order."""

Account = Callable[[Transcript, Seat], RenderableType]
"""From a verified transcript to where a seat won and lost its points."""


@dataclass(frozen=True, slots=True)
class View:
    """How a game is shown."""

    pages: Renderer
    account: Account | None = None
    once_a_round: Mapping[str, int] = field(default_factory=dict)
    """Commands that a seat is asked once in every round, and the first round that has them."""


Happened = tuple[Mapping[str, Any], Mapping[Seat, Reply]]
"""An event, and the replies of the exchange that led to it (empty where nobody was asked)."""


def happenings(transcript: Transcript) -> Iterator[Happened]:
    """Every event in order: what a barrier decided is told with the lines that follow it."""
    replies: Mapping[Seat, Reply] = {}
    for exchange in transcript.exchanges:
        for event in exchange.events:
            yield event, replies
        replies = exchange.replies


def by_round(transcript: Transcript) -> Iterator[tuple[int, list[Happened]]]:
    """The events of each round; one without a number belongs to the round before it, `final` to none."""
    number, found = 0, list[Happened]()
    for event, replies in happenings(transcript):
        new = event.get("round", number)
        if event["type"] == "final":
            break
        if new != number:
            if found:
                yield number, found
            number, found = new, []
        found.append((event, replies))
    if found:
        yield number, found


def final_event(transcript: Transcript) -> Mapping[str, Any]:
    """What a game tells at the end."""
    *_, last = transcript.events()
    return last


def heading(text: str) -> Text:
    """The head of a page."""
    return Text(text, style="bold")


def took(replies: Mapping[Seat, Reply], seat: Seat, width: int = 0) -> str:
    """How long a seat needed for what it did, right-justified, and behind a plus what its host took beside that."""
    if seat not in replies:
        return " " * width
    taken = f" + {duration(replies[seat].stolen_ns)}" if replies[seat].stolen_ns else ""
    return f"{duration(replies[seat].own_ns):>{width}}{taken}"


def who(names: Sequence[str], seat: Seat) -> str:
    """A seat with its bot's name, in a fixed width."""
    return f"{seat_number(seat)} {short(names[seat], NAME_WIDTH):{NAME_WIDTH}}"


def seated(names: Sequence[str], seat: Seat) -> str:
    """A seat and its name, short enough for the head of a column."""
    return f"{seat_number(seat)} {short(names[seat], COLUMN_WIDTH)}"


def fault_line(event: Event, names: Sequence[str]) -> Text:
    """A fault, as all games tell it."""
    seat = event["seat"]
    assert isinstance(seat, int)
    shown = f"{event['fault']} at {event['command']}: {visible(str(event['why']))}"
    return Text.assemble(f"  {who(names, seat)} ", (shown, "bold red"))


def outcome(transcript: Transcript, names: Sequence[str]) -> Text:
    """How the match ended."""
    text = Text()
    result = transcript.result
    if not result.rated:
        return Text("Nobody wins: all were at fault.", style="bold")
    winners = [seat for seat, rank in enumerate(result.ranks) if rank == 1]
    if len(winners) > 1:
        text.append(f"A draw between {' and '.join(f'seat {seat_number(seat)}' for seat in winners)}.", style="bold")
    else:
        text.append(f"Seat {seat_number(winners[0])} ({short(names[winners[0]], 50)}) wins", style="bold")
        if result.faults:
            failed = (f"seat {seat_number(seat)} failed by {fault}" for seat, fault in sorted(result.faults.items()))
            text.append(f"; {', '.join(failed)}")
        text.append(".")
    return text


def stack(*parts: RenderableType) -> Group:
    """Parts below each other."""
    return Group(*parts)
