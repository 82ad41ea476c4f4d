"""Betris in a terminal: both boards after every round, with the blocks on offer."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.columns import Columns
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from deadheat.cli.console import out
from deadheat.cli.replays.pages import View
from deadheat.engine.core import Seat
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


VIEW = View(after=_boards, once_a_round={"PHASE1": 1, "PHASE2": 1})
