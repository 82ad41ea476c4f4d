"""Conditional answers: 304 if the client already has the same content, and compressed for clients that accept gzip. So
are the site's files, and those in the `web` folder of each game, at ``NAME/HASH/FILE``.
"""

import gzip
import os
import re
from collections.abc import MutableMapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from deadheat.api.services import PACKED, Body, worth_packing
from deadheat.engine.games.folder import folders, web_address

NOWHERE = "no-store"
"""The cache policy of answers that only some may read."""

VARIES = "Accept-Encoding"
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


def answer(request: Request, body: Body, kept: str = "no-cache") -> Response:
    """Return the body, or 304 if the client named its ETag. `kept` tells caches what they may do with it."""
    headers = {"ETag": body.etag, "Cache-Control": kept}
    packs = kept != NOWHERE and body.packs
    packed = packs and _reads_gzip(request.headers)
    if packs:
        headers["Vary"] = VARIES
    if packed:
        _tell_packed(headers)
    if matches(request.headers.get("if-none-match"), body.etag):
        headers.pop("Content-Encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(body.packed() if packed else body.content, headers=headers, media_type=body.media_type)


def whole(scope: Scope, body: Body) -> Response:
    """Return the body for a client that named no ETag, compressed if it accepts gzip. Either form is made only once,
    because making it takes longer than sending it.
    """
    packed = _reads_gzip(Headers(scope=scope))
    if packed not in body.answers:
        body.answers[packed] = answer(Request(scope), body)
    return body.answers[packed]


def _reads_gzip(headers: Headers) -> bool:
    return _GZIP.search(headers.get("accept-encoding", "")) is not None


def _tell_packed(headers: MutableMapping[str, str]) -> None:
    """Mark an answer as compressed in its headers. Its tag becomes weak: it names the content, not the bytes."""
    headers["Content-Encoding"] = "gzip"
    headers["ETag"] = f"W/{headers['ETag']}"


def matches(if_none_match: str | None, etag: str) -> bool:
    """Say whether the header names the tag; weak tags compare equal (RFC 9110, 13.1.2)."""
    if if_none_match is None:
        return False
    named = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in named or "*" in named


KEPT = "public, max-age=31536000, immutable"
"""The address contains the hash of the game's folder, so its content never changes."""


class Files(StaticFiles):
    """Serves a folder's files, each compressed once for all clients that accept gzip."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        request_headers = Headers(scope=scope)
        kind = response.media_type or ""
        if response.status_code != 200 or not worth_packing(stat_result.st_size, kind):
            return response
        response.headers["Vary"] = VARIES
        if not _reads_gzip(request_headers):
            return response
        headers = {name: response.headers[name] for name in ("ETag", "Last-Modified", "Vary")}
        _tell_packed(headers)
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
