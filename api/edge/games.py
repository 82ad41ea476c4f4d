"""Serves the files in `web` of a game's folder, at ``NAME/HASH/FILE``."""

from __future__ import annotations

import os
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from deadheat.engine.games.folder import folders, web_address

KEPT = "public, max-age=31536000, immutable"
"""The address contains the hash of the game's folder, so its content never changes."""


class GameFiles(StaticFiles):
    """The files in the folders `web` of all games. An address with another hash of the folder has no file: two API
    processes may differ while they are replaced, and browsers keep what they get.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of = {name: StaticFiles(directory=game.path / "web", check_dir=False) for name, game in folders().items()}

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Find the file, in its own folder only."""
        name, _, rest = path.partition("/")
        file = rest.partition("/")[2]
        if name not in self._of or not file or web_address(name, file) != f"/static/games/{path}":
            return "", None
        return self._of[name].lookup_path(file)

    def file_response(self, *arguments: Any, **named: Any) -> Response:
        """Answer with the file, which browsers may keep."""
        response = super().file_response(*arguments, **named)
        response.headers["Cache-Control"] = KEPT
        return response
