"""A person's moves as a form: the corners of a rectangle, or a pass."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.engine.core import Seat
from deadheat.engine.games.forms import Fields, Form, State, Turn, whole
from deadheat_mushroom.board import COLUMNS, ROWS, SUM, Board
from deadheat_mushroom.rules import NO_MOVE

FIELDS = (
    ("top", "First row", ROWS),
    ("left", "First column", COLUMNS),
    ("bottom", "Last row", ROWS),
    ("right", "Last column", COLUMNS),
)


def _take(_prompt: str, state: State, _seat: Seat) -> Turn:
    """Offer every rectangle that may be taken, with what it adds up to."""
    board = Board([row.replace(".", "0") for row in state["rows"]])

    def line(fields: Fields) -> str:
        if "pass" in fields:
            return NO_MOVE
        return " ".join(str(whole(fields, name, label, range(size))) for name, label, size in FIELDS)

    offer = {"rows": state["rows"], "sum": SUM, "rectangles": [list(each) for each in board.rectangles()]}
    return Turn("take", line, offer)


FORMS: Mapping[str, Form] = {"TIME": _take}
