"""Advice after a match, in words."""

from __future__ import annotations

from deadheat.engine.advice import Adviser, Move
from deadheat.engine.core import Seat
from deadheat.engine.games.forms import State


def _move(_prompt: str, line: str, _state: State, _seat: Seat) -> Move:
    command, what, value = line.split()
    if command == "BID":
        return Move(f"{int(value):,} points on {what}", what, int(value))
    dice = "".join(sorted(value))
    return Move(f"{dice} as {what.replace('_', ' ').lower()}", (what, dice))


ADVICE = Adviser("expert", _move, slack=1000)
"""A die's pip is worth 1000 points; nobody can say a bid more exactly."""
