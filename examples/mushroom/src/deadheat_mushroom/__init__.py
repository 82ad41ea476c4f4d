"""Mushroom: rectangles that add up to ten, taken in turn from a common board, against a time bank."""

from deadheat.engine.games.folder import GameFolder
from deadheat_mushroom.rules import Mushroom

GAME = GameFolder(
    Mushroom(),
    __name__,
    seats_differ="Seat 1 moves first.",
    pace=(0.5, 0.5),
    panel=("thinker", "greedy"),
)
