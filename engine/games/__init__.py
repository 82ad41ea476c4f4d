"""Every available game, and what authors of games build on. `engine.games.folder` says what a game's folder holds."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.engine.core import Game
from deadheat.engine.games.folder import Games, folders

GAMES: Mapping[str, Game] = Games()
"""Every game that can be played, by the name used in URLs, folders and transcripts."""


def unknown(name: str) -> str:
    """Say that there is no such game, and which there are."""
    return f"there is no game {name!r}; choose from {', '.join(GAMES)}"


def same_deals(game: str) -> bool:
    """Return whether a league plays each deal of it once from every seat, see `GameFolder.same_deals`."""
    return game in GAMES and folders()[game].same_deals
