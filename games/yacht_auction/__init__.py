"""Yacht Auction: an auction for five dice in each round, and a score sheet to fill with them."""

from deadheat.engine.games.folder import GameFolder
from deadheat.games.yacht_auction.rules import YachtAuction

GAME = GameFolder(
    YachtAuction(),
    __name__,
    place=1,
    seats_differ=None,
    pace=(0.4, 0.2),
    panel=("expert", "counter", "greedy", "random"),
)
