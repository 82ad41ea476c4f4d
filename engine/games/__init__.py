"""Every available game, and what authors of games build on. `engine.games.folder` says what a game's folder holds."""

from collections.abc import Mapping

from deadheat.engine.core import Game
from deadheat.engine.games.folder import Games, folders

GAMES: Mapping[str, Game] = Games()
"""Every available game, by the name used in URLs, folders and transcripts."""


def unknown(name: str) -> str:
    """Return an error message about an unknown game that lists the available ones."""
    return f"there is no game {name!r}; choose from {', '.join(GAMES)}"


def same_deals(game: str) -> bool:
    """Say whether a league plays each deal of the game once from every seat; see `GameFolder.same_deals`."""
    return game in GAMES and folders()[game].same_deals
