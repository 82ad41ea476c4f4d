"""Betris in a terminal: bets, both boards after every round, chips and banks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.columns import Columns
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.console import out
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
from engine.core import NS_PER_MS, Reply, Seat
from engine.figures import duration
from engine.games.polyominoes import SHAPES, SIDE
from engine.transcript import Transcript

BOARD_WIDTH = 26


@dataclass(slots=True)
class Board:
    """One seat's board, and the cells that were filled last."""

    filled: set[tuple[int, int]] = field(default_factory=set)
    last: set[tuple[int, int]] = field(default_factory=set)
    caption: str = ""
    score: str = ""


def pages(transcript: Transcript) -> Iterator[Page]:
    """A page a round, then the sheets."""
    names = players(transcript)
    boards = (Board(), Board())
    for number, events in by_round(transcript):
        yield Page(number, stack(*_round(number, events, names, boards), Text()))
    yield Page(None, stack(_sheets(transcript), outcome(transcript, names)))


def account(transcript: Transcript, seat: Seat) -> RenderableType:
    """Both sheets and their difference, the seat's own first."""
    return _sheets(transcript, seat)


def _round(
    number: int, events: Sequence[Happened], names: Sequence[str], boards: tuple[Board, Board]
) -> Iterator[RenderableType]:
    offered: tuple[str, ...] = ()
    for event, replies in events:
        match event["type"]:
            case "offer":
                offered = event["a"], event["b"]
                yield heading(f"Round {number}     on offer: {offered[0]} and {offered[1]}")
            case "bets":
                yield from _bets(event, replies, names)
            case "place":
                _place(event, replies, boards[event["seat"]])
                if event["seat"] == 1:
                    yield _drawn(boards, offered, names)
            case "fault":
                yield fault_line(event, names)


def _bets(event: Mapping[str, Any], replies: Mapping[Seat, Reply], names: Sequence[str]) -> Iterator[Text]:
    for seat in (0, 1):
        line = Text(f"  {who(names, seat)} bets {event['bets'][seat]} on {event['choices'][seat]}, gets ")
        line.append(event["acquired"][seat], style="bold")
        paid = event["paid"][seat]
        line.append(f", pays {paid}", style="red" if paid else "green")
        line.append(f", has {event['chips'][seat]:2d} chips{took(replies, seat, 10)}")
        yield line
    if event["coin"]:
        yield BY_THE_COIN


def _place(event: Mapping[str, Any], replies: Mapping[Seat, Reply], board: Board) -> None:
    board.last = {(x, y) for x, y in event["cells"]}
    board.filled |= board.last
    board.caption = f"{event['block']} {'placed' if board.last else 'passed'} in {took(replies, event['seat'])}"
    side = event["square"]
    board.score = (
        f"{event['filled']} cells, square {side} x {side}\n"
        f"total {event['total']}\nbank {event['bank_ns'] // NS_PER_MS} ms"
    )


def _drawn(boards: Sequence[Board], offered: Sequence[str], names: Sequence[str]) -> RenderableType:
    columns: list[RenderableType] = []
    for seat, board in enumerate(boards):
        drawing = Text(f"{seated(names, seat)}\n{board.caption}\n", no_wrap=True)
        for row in range(1, SIDE + 1):
            drawing.append(f"{row} ")
            for column in range(1, SIDE + 1):
                drawing.append_text(_cell((row, column), board))
            drawing.append("\n")
        drawing.append(f"  {' '.join(map(str, range(1, SIDE + 1)))}\n{board.score}", style="")
        columns.append(drawing)
    columns.append(_shapes(offered))
    return Padding(Columns(columns, width=BOARD_WIDTH - 2, padding=(0, 1)), (0, 0, 0, 1))


def _cell(cell: tuple[int, int], board: Board) -> Text:
    if cell in board.last:
        return Text(_marks()[0], style="green")
    return Text(_marks()[1] if cell in board.filled else _marks()[2])


def _marks() -> tuple[str, str, str]:
    """A cell filled just now, filled before, and empty."""
    return ("▒▒", "██", "· ") if out.encoding.lower().startswith("utf") else ("++", "##", ". ")


def _shapes(offered: Sequence[str]) -> Text:
    """The blocks on offer, drawn in one of their forms."""
    text = Text("\n\n")
    full = _marks()[1]
    for name in offered:
        text.append(f"{name}\n")
        for row in SHAPES[name].split("/"):
            text.append("".join(full if mark == "#" else "  " for mark in row) + "\n")
        text.append("\n")
    return text


def _sheets(transcript: Transcript, own: Seat | None = None) -> Table:
    """What the totals are made of; with `own` that seat comes first, and a last column has the difference."""
    order = (0, 1) if own is None else (own, 1 - own)
    names = players(transcript)
    final = final_event(transcript)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for seat in order:
        table.add_column(Text(seated(names, seat)), justify="right", no_wrap=True, min_width=10)
    if own is not None:
        table.add_column("difference", justify="right")

    def row(label: str, cells: Sequence[str], values: Sequence[float] = (), style: str = "") -> None:
        last = [] if own is None else [_signed(values[0] - values[1]) if values else Text()]
        table.add_row(label, *cells, *last, style=style)

    for label, key, worth in (("filled cells", "cells", 1.0), ("largest square", "square", 0), ("chips", "chips", 0.5)):
        counts = [final[key][seat] for seat in order]
        points = [n * n if key == "square" else n * worth for n in counts]
        shown = [f"{n} x {n} = {n * n}" if key == "square" else f"{n}" for n in counts]
        row(label if key != "chips" else "chips, half a point each", shown, points)
    row("total", [final["total"][s] for s in order], [float(final["total"][s]) for s in order], style="bold")
    places = [event for event, _ in happenings(transcript) if event["type"] == "place"]
    row("passed", [str(sum(1 for e in places if e["seat"] == s and not e["cells"])) for s in order])
    row("left in the bank", [duration(final["bank_ns"][s]) for s in order])
    return table


def _signed(value: float) -> Text:
    return Text(f"{value:+g}" if value else "0", style="red" if value < 0 else "green" if value > 0 else "")


VIEW = View(pages, account, {"PHASE1": 1, "PHASE2": 1})
