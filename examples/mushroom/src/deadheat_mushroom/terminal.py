"""Mushroom in a terminal: the board after every turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from deadheat.cli.replays.pages import View
from deadheat.engine.figures import duration

COLOURS = {"0": "blue", "1": "magenta"}
LETTERS = {"0": "a", "1": "b"}
"""What stands for a cell that a seat owns, where its mushroom has gone; in capitals if it was taken just now."""


def _board(state: Mapping[str, Any], names: Sequence[str]) -> RenderableType | None:
    drawing = Text(no_wrap=True)
    drawing.append("   " + " ".join(f"{column % 10}" for column in range(len(state["rows"][0]))) + "\n", style="dim")
    last = state["last"] or {"rectangle": None, "mushrooms": []}
    now = last["rectangle"] or [0, 0, -1, -1]
    taken = {(row, column): str(digit) for row, column, digit in last["mushrooms"]}
    for row, (mushrooms, owners) in enumerate(zip(state["rows"], state["owners"], strict=True)):
        drawing.append(f"{row:2} ", style="dim")
        for column, (mushroom, owner) in enumerate(zip(mushrooms, owners, strict=True)):
            inside = now[0] <= row <= now[2] and now[1] <= column <= now[3]
            mark = taken.get((row, column), mushroom if owner == "." else LETTERS[owner])
            style = f"{COLOURS.get(owner, '')} {'reverse' if inside else ''}".strip()
            drawing.append(mark.upper() if inside else mark, style=style)
            drawing.append(" ")
        drawing.append("\n")
    for seat, letter in enumerate(LETTERS.values()):
        bank_ms = state["bank_ms"][seat]
        bank = "" if bank_ms is None else f", {duration(bank_ms * 1_000_000)} left"
        drawing.append(f"{letter} {names[seat]}: {state['cells'][seat]} cells{bank}\n")
    return Padding(drawing, (0, 0, 0, 2))


VIEW = View(after=_board)
