"""Views of matches in a terminal, from the games' folders. Matches of other games are shown line by line."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.cli.replays.pages import View
from deadheat.engine.games.folder import Parts

VIEWS: Mapping[str, View] = Parts("terminal", "VIEW")
"""Views by the game's name."""
