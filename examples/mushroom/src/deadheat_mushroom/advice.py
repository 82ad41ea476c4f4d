"""Advice after a match, in words."""

from __future__ import annotations

from deadheat.engine.advice import Adviser, Move
from deadheat.engine.core import Seat
from deadheat.engine.games.forms import State
from deadheat.engine.language import _
from deadheat_mushroom.forms import board_of, told
from deadheat_mushroom.rules import read_move


def _move(_prompt: str, line: str, state: State, _seat: Seat) -> Move:
    board = board_of(state)
    rectangle = read_move(line, board)
    return Move(_("pass") if rectangle is None else told(board, rectangle), rectangle)


ADVICE = Adviser("thinker", _move)
