"""Views of matches in a terminal: one module and one line here per game. Other games are shown line by line."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.cli.replays import betris, liars_dice, yacht_auction
from deadheat.cli.replays.pages import View

VIEWS: Mapping[str, View] = {
    "betris-large": betris.VIEW,
    "liars-dice": liars_dice.VIEW,
    "yacht-auction": yacht_auction.VIEW,
}
"""Views by the game's name."""
