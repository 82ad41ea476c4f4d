"""Yacht Auction in a terminal: the auction and the scoring of each round, score sheets at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cli.local.transcripts import players
from cli.replays.pages import (
    BY_THE_COIN,
    Happened,
    Page,
    View,
    by_round,
    fault_line,
    final_event,
    happenings,
    heading,
    outcome,
    seated,
    stack,
    took,
    who,
)
from engine.core import Reply, Seat
from engine.games.yacht_auction import BASIC, CATEGORIES, LAST_BIDDING, ROUNDS, Player
from engine.transcript import Transcript


def pages(transcript: Transcript) -> Iterator[Page]:
    """A page a round, then the sheets."""
    names = players(transcript)
    sheets = (Player(), Player())
    bundles: dict[str, str] = {}
    for number, events in _rounds(transcript):
        yield Page(number, stack(*_round(number, events, names, sheets, bundles), Text()))
    yield Page(None, stack(_sheets(transcript), outcome(transcript, names)))


def account(transcript: Transcript, seat: Seat) -> RenderableType:
    """Both sheets and their difference, the seat's own first."""
    return _sheets(transcript, seat)


def _rounds(transcript: Transcript) -> Iterator[tuple[int, list[Happened]]]:
    """As `by_round`, but a fault in the last round, which has no auction to begin it, belongs to that round."""
    for number, events in by_round(transcript):
        kinds = [event["type"] for event, _ in events]
        over = number == LAST_BIDDING and kinds.count("score") == 2 and "fault" in kinds
        end = kinds.index("fault") if over else len(events)
        yield number, events[:end]
        if over:
            yield ROUNDS, events[end:]


def _round(
    number: int,
    events: Sequence[Happened],
    names: Sequence[str],
    sheets: tuple[Player, Player],
    bundles: dict[str, str],
) -> Iterator[RenderableType]:
    title = heading(f"Round {number}") if number else heading("Before round 1")
    if events[0][0]["type"] != "roll":
        yield title
    for event, replies in events:
        match event["type"]:
            case "roll":
                bundles.update(A=event["a"], B=event["b"])
                title.append(f"     A {_spaced(event['a'])}     B {_spaced(event['b'])}")
                yield title
            case "auction":
                yield from _auction(event, replies, names, sheets, bundles)
            case "score":
                yield _score(event, replies, names, sheets)
                if event["seat"] == 1:
                    yield Text(f"{'':21}total {sheets[0].total} : {sheets[1].total}", style="bold")
            case "fault":
                yield fault_line(event, names)


def _auction(
    event: Mapping[str, Any],
    replies: Mapping[Seat, Reply],
    names: Sequence[str],
    sheets: tuple[Player, Player],
    bundles: Mapping[str, str],
) -> Iterator[Text]:
    for seat in (0, 1):
        target, received, change = event["targets"][seat], event["received"][seat], event["changes"][seat]
        sheets[seat].dice += bundles[received]
        sheets[seat].bids += change
        settled = f"{'pays' if target == received else 'gains':5} {event['bids'][seat]:6d}"
        line = Text(f"  {who(names, seat)} wants {target} for {event['bids'][seat]:6d}, gets ")
        line.append(received, style="bold")
        line.append(f", {settled}", style="red" if change < 0 else "green")
        yield line.append(took(replies, seat, 10))
    if event["coin"]:
        yield BY_THE_COIN


def _score(
    event: Mapping[str, Any], replies: Mapping[Seat, Reply], names: Sequence[str], sheets: tuple[Player, Player]
) -> Text:
    seat = event["seat"]
    sheets[seat].score(event["category"], event["dice"])
    kept = "".join(sorted(sheets[seat].dice))
    line = Text(f"  {who(names, seat)} {event['category']:14} {event['dice']} ")
    line.append(f"{event['points']:6d}", style="bold")
    line.append(f"  keeps {kept:5}" if kept else f"{'':13}")
    return line.append(took(replies, seat, 10))


def _sheets(transcript: Transcript, own: Seat | None = None) -> Table:
    """The score sheets; with `own` that seat comes first, and a last column has the difference."""
    order = (0, 1) if own is None else (own, 1 - own)
    names = players(transcript)
    final = final_event(transcript)
    scored = {(e["seat"], e["category"]): e for e, _ in happenings(transcript) if e["type"] == "score"}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("category")
    for seat in order:
        table.add_column(Text(seated(names, seat)), justify="right", no_wrap=True, min_width=14)
    if own is not None:
        table.add_column("difference", justify="right")

    def row(label: str, cells: Sequence[str], values: Sequence[int], style: str = "") -> None:
        last = [] if own is None else [_signed(values[0] - values[1])]
        table.add_row(label, *cells, *last, style=style)

    for category in CATEGORIES:
        found = [scored.get((seat, category)) for seat in order]
        cells = [f"{e['dice']} {e['points']:7d}" if e else "-" for e in found]
        row(category, cells, [e["points"] if e else 0 for e in found])
        if category == list(BASIC)[-1]:
            row("bonus", [str(final["bonus"][s]) for s in order], [final["bonus"][s] for s in order])
    row("bids", [str(final["bids"][s]) for s in order], [final["bids"][s] for s in order])
    row("total", [str(final["total"][s]) for s in order], [final["total"][s] for s in order], style="bold")
    return table


def _signed(value: int) -> Text:
    return Text(f"{value:+d}" if value else "0", style="red" if value < 0 else "green" if value > 0 else "")


def _spaced(dice: str) -> str:
    return " ".join(dice)


VIEW = View(pages, account, {"ROLL": 1, "SCORE": 2})
