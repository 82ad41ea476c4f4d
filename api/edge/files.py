"""Serves the site's files, and those in the `web` folder of each game, at ``NAME/HASH/FILE``."""

from __future__ import annotations

import gzip
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from deadheat.api.edge.caching import VARIES, reads_gzip, tell_packed
from deadheat.api.services import PACKED, worth_packing
from deadheat.engine.games.folder import folders, web_address

KEPT = "public, max-age=31536000, immutable"
"""The address contains the hash of the game's folder, so its content never changes."""


class Files(StaticFiles):
    """Serves a folder's files, each compressed once for all clients that accept gzip."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        asked = Headers(scope=scope)
        kind = response.media_type or ""
        if response.status_code != 200 or not worth_packing(stat_result.st_size, kind):
            return response
        response.headers["Vary"] = VARIES
        if not reads_gzip(asked):
            return response
        headers = {name: response.headers[name] for name in ("ETag", "Last-Modified", "Vary")}
        tell_packed(headers)
        return Response(_packed(str(full_path), stat_result.st_mtime_ns), headers=headers, media_type=kind)


@lru_cache(maxsize=256)
def _packed(path: str, _changed_ns: int) -> bytes:
    return gzip.compress(Path(path).read_bytes(), PACKED, mtime=0)


class GameFiles(Files):
    """Serves the files in the `web` folders of all games. An address with a different hash gives no file: during an
    upgrade two API processes may have different folders, and browsers cache what they get.
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
        response = super().file_response(*arguments, **named)
        response.headers["Cache-Control"] = KEPT
        return response
