"""Betris (Large): bets on blocks, and a board to fill with them against a time bank."""

from deadheat.engine.games.folder import GameFolder
from deadheat.games.betris_large.rules import Betris

GAME = GameFolder(
    Betris(),
    __name__,
    place=2,
    seats_differ=None,
    pace=(0.5, 0.25),
    panel=("expert", "solid", "greedy", "random"),
)
