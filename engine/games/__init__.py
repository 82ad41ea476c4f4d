"""The registry: one module per game, one line per game here."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.engine.core import Game
from deadheat.engine.games.betris import Betris
from deadheat.engine.games.liars_dice import LiarsDice
from deadheat.engine.games.yacht_auction import YachtAuction

GAMES: Mapping[str, Game] = {
    game.name: game
    for game in (
        YachtAuction(),
        Betris(),
        LiarsDice(),
    )
}
"""Every game that can be played, by the name used in URLs, folders and transcripts."""

SAME_DEALS = frozenset({LiarsDice.name})
"""Games with private hands: a league plays each deal once with every bot in every seat, so that luck with the dice
cancels out. In other games everybody sees the same dice, so playing them again would only repeat the match."""
