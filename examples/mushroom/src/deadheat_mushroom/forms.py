"""A person's moves as a form: a rectangle that may be taken, or a pass."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.engine.core import Seat
from deadheat.engine.games.forms import Fields, Form, State, Turn, choice
from deadheat.engine.language import _
from deadheat_mushroom.board import SUM, Board, Rectangle, place
from deadheat_mushroom.rules import NO_MOVE


def _take(_prompt: str, state: State, _seat: Seat) -> Turn:
    """Offer every rectangle that may be taken, with what it adds up to."""
    board = board_of(state)
    offered = {" ".join(map(str, each)): told(board, each) for each in board.rectangles()}

    def line(fields: Fields) -> str:
        return NO_MOVE if "pass" in fields else choice(fields, "rectangle", offered, _("a rectangle, or pass"))

    return Turn("take", line, {"rows": state["rows"], "sum": SUM, "rectangles": offered})


def board_of(state: State) -> Board:
    """Return the mushrooms that are left in a scene."""
    return Board([row.replace(".", "0") for row in state["rows"]])


def told(board: Board, rectangle: Rectangle) -> str:
    """Return where a rectangle is and what its mushrooms add up to, in words."""
    top, left, bottom, right = rectangle
    digits = [digit for row in board.mushrooms[top : bottom + 1] for digit in row[left : right + 1] if digit]
    return f"{place(rectangle)}: {' + '.join(map(str, digits))}"


FORMS: Mapping[str, Form] = {"TIME": _take}
