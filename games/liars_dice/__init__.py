"""Liar's Dice: bids on the dice under all cups, and challenges."""

from deadheat.engine.games.folder import GameFolder
from deadheat.games.liars_dice.rules import LiarsDice

GAME = GameFolder(
    LiarsDice(),
    __name__,
    place=3,
    seats_differ="Seat 1 opens the bidding; the others follow in order.",
    pace=(0.4, 0.05),
    same_deals=True,
    panel=("expert", "teller", "honest", "random"),
)
