"""Betris in a terminal: both boards after every round, with the blocks that were on offer, and sheets at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.columns import Columns
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deadheat.cli.console import out
from deadheat.cli.replays.pages import Row, View, final_event, sheet
from deadheat.engine.core import Seat
from deadheat.engine.figures import duration
from deadheat.engine.transcript import Transcript
from deadheat.games.betris_large.polyominoes import SHAPES, SIDE

BOARD_WIDTH = 26


def _boards(state: Mapping[str, Any], names: Sequence[str]) -> RenderableType | None:
    if None in state["totals"]:
        return None
    columns = [*(_board(state, seat, name) for seat, name in enumerate(names)), _shapes(state["offer"])]
    return Padding(Columns(columns, width=BOARD_WIDTH - 2, padding=(0, 1)), (0, 0, 0, 1))


def _board(state: Mapping[str, Any], seat: Seat, name: str) -> Text:
    new, full, empty = _marks()
    filled, last = ({(row, column) for row, column in state[key][seat]} for key in ("boards", "last"))
    drawing = Text(f"{name}\n", no_wrap=True)
    for row in range(1, SIDE + 1):
        drawing.append(f"{row} ")
        for cell in ((row, column) for column in range(1, SIDE + 1)):
            drawing.append(new if cell in last else full if cell in filled else empty, style="green" * (cell in last))
        drawing.append("\n")
    side = state["square"][seat]
    return drawing.append(
        f"  {' '.join(map(str, range(1, SIDE + 1)))}\n{state['filled'][seat]} cells, square {side} x {side}\n"
        f"total {state['totals'][seat]}\nbank {state['bank_ms'][seat]} ms"
    )


def _marks() -> tuple[str, str, str]:
    """Return the marks for a cell filled just now, filled before, and empty."""
    return ("▒▒", "██", "· ") if out.encoding.lower().startswith("utf") else ("++", "##", ". ")


def _shapes(offered: Sequence[str]) -> Text:
    """Draw the blocks on offer in one of their forms."""
    text = Text("\n")
    for name in offered:
        rows = (row.replace("#", _marks()[1]).replace(".", "  ") for row in SHAPES[name].split("/"))
        text.append("\n".join((name, *rows, "\n")))
    return text


def _sheets(transcript: Transcript, own: Seat | None = None) -> Table:
    return sheet(transcript, "", _rows(transcript), own)


def _rows(transcript: Transcript) -> Iterator[Row]:
    final = final_event(transcript)
    cells, sides, chips = final["cells"], final["square"], final["chips"]
    yield "filled cells", [str(count) for count in cells], cells
    yield "largest square", [f"{side} x {side} = {side * side}" for side in sides], [side * side for side in sides]
    yield "chips, half a point each", [str(count) for count in chips], [count / 2 for count in chips]
    yield "total", final["total"], [float(total) for total in final["total"]]
    passed = [event["seat"] for event in transcript.events() if event["type"] == "place" and not event["cells"]]
    yield "passed", [str(passed.count(seat)) for seat in (0, 1)], None
    yield "left in the bank", [duration(bank_ns) for bank_ns in final["bank_ns"]], None


VIEW = View(after=_boards, sheet=_sheets, account=_sheets, once_a_round={"PHASE1": 1, "PHASE2": 1})
