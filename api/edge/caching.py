"""Conditional answers: 304 if the client already has the same content, and compressed for clients that accept gzip."""

from __future__ import annotations

import re
from collections.abc import MutableMapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from deadheat.api.services import Body

NOWHERE = "no-store"
"""The cache policy of answers that only some may read."""

VARIES = "Accept-Encoding"
"""The request header that decides whether an answer is compressed."""

_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


def answer(request: Request, body: Body, kept: str = "no-cache") -> Response:
    """Return the body, or 304 if the client named its ETag. `kept` tells caches what they may do with it."""
    headers = {"ETag": body.etag, "Cache-Control": kept}
    packs = kept != NOWHERE and body.packs
    packed = packs and reads_gzip(request.headers)
    if packs:
        headers["Vary"] = VARIES
    if packed:
        tell_packed(headers)
    if matches(request.headers.get("if-none-match"), body.etag):
        headers.pop("Content-Encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(body.packed() if packed else body.content, headers=headers, media_type=body.media_type)


def whole(scope: Scope, body: Body) -> Response:
    """Return the body for a client that named no ETag, compressed if it accepts gzip. Either form is made only once,
    because making it takes longer than sending it.
    """
    packed = reads_gzip(Headers(scope=scope))
    if packed not in body.answers:
        body.answers[packed] = answer(Request(scope), body)
    return body.answers[packed]


def reads_gzip(headers: Headers) -> bool:
    return _GZIP.search(headers.get("accept-encoding", "")) is not None


def tell_packed(headers: MutableMapping[str, str]) -> None:
    """Mark an answer as compressed in its headers. Its tag becomes weak: it names the content, not the bytes."""
    headers["Content-Encoding"] = "gzip"
    headers["ETag"] = f"W/{headers['ETag']}"


def matches(if_none_match: str | None, etag: str) -> bool:
    """Say whether the header names the tag; weak tags compare equal (RFC 9110, 13.1.2)."""
    if if_none_match is None:
        return False
    named = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in named or "*" in named
