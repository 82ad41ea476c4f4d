"""How matches look in a terminal: one module a game, one line a game here. A game without one is shown line by line."""

from __future__ import annotations

from collections.abc import Mapping

from cli.replays import betris, liars_dice, yacht_auction
from cli.replays.pages import View

VIEWS: Mapping[str, View] = {
    "betris-large": betris.VIEW,
    "liars-dice": liars_dice.VIEW,
    "yacht-auction": yacht_auction.VIEW,
}
"""By the game's name."""
