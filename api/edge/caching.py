"""Conditional answers: 304 if the client already has the same bytes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from deadheat.api.services import Body

NOWHERE = "no-store"
"""The cache policy of answers that are not for everybody."""


def answer(request: Request, body: Body, kept: str = "no-cache") -> Response:
    """Return the body, or 304 if the client named its ETag. `kept`: what caches may do with it."""
    headers = {"ETag": body.etag, "Cache-Control": kept}
    if matches(request.headers.get("if-none-match"), body.etag):
        return Response(status_code=304, headers=headers)
    return Response(body.content, headers=headers, media_type=body.media_type)


def matches(if_none_match: str | None, etag: str) -> bool:
    """Say whether the header names the tag; weak tags compare equal (RFC 9110, 13.1.2)."""
    if if_none_match is None:
        return False
    named = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in named or "*" in named
