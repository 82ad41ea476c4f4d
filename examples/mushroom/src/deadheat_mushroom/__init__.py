"""Mushroom: rectangles that add up to ten, taken in turn from a common board, against a time bank."""

from deadheat.engine.games.folder import GameFolder
from deadheat_mushroom.rules import BANK_NS, Mushroom

GAME = GameFolder(
    Mushroom(),
    __name__,
    seats_differ="Seat 1 moves first.",
    pace=(0.5, 0.5),
    bank_ns=BANK_NS,
    panel=("thinker", "greedy"),
)
