"""What surrounds every request: headers for browsers, answers from memory, and the measuring of it.

Plain ASGI, for the framework's own middleware class would put a queue between a route and its stream.
"""

from __future__ import annotations

import secrets
import time
from urllib.parse import unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import metrics
from api.edge.caching import answer
from api.errors import problem
from api.schemas.base import is_plain
from api.services import Bodies
from league import telemetry

_POLICY = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_SECURITY = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # api.edge.sessions needs the Origin that no-referrer takes away
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_HTTPS_ALONE = (b"strict-transport-security", b"max-age=31536000")
"""For a year. Browsers heed it only where it comes by https, and it speaks of this host alone."""

_NOT_KEPT = (b"cache-control", b"no-store")
_PERSONAL = frozenset({b"authorization", b"cookie"})
API = "1.0"
"""Which API this is, said in every answer: the first number counts what old clients cannot live with, the second what
is new. A client of another first number refuses to go on (`cli.server.api_client`)."""


class SecurityHeaders:
    """No page of ours runs what it did not bring itself, is framed, or tells others where it was; what somebody got by
    their token or session is kept by nobody on the way, unless the route says otherwise.
    """

    def __init__(self, app: ASGIApp, by_https: bool) -> None:
        self._app = app
        self._by_https = by_https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        added = [*_SECURITY, (b"deadheat-api", API.encode())]
        if self._by_https or scope["scheme"] == "https":
            added.append(_HTTPS_ALONE)
        personal = any(name in _PERSONAL for name, _ in scope["headers"])

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *added]
                if personal and not any(name.lower() == b"cache-control" for name, _ in headers):
                    headers.append(_NOT_KEPT)
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, with_headers)


class HeadAsGet:
    """Answers HEAD like GET without the body, as every server must (RFC 9110, 9.1); routes know GET alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


class PlainAddresses:
    """Refuses addresses with control characters in them, as bodies with such are (`api.schemas.base.PLAIN`)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_plain(scope["path"] + unquote(scope["query_string"].decode("latin-1"))):
            await self._app(scope, receive, send)
            return
        answer = problem(Request(scope), 422, "invalid", "The address contains control characters.")
        await answer(scope, receive, send)


class FromMemory:
    """Answers what somebody asked for a moment ago, and is the same for everyone, before a route is looked for: that
    takes more than twice as long as sending the page (`scripts/bench site`).
    """

    def __init__(self, app: ASGIApp, bodies: Bodies) -> None:
        self._app = app
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self._bodies.at(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        answering = self._app if body is None else answer(Request(scope), body)
        await answering(scope, receive, send)


class Measured:
    """Counts and times requests by route (never by path: that would be one series for each bot), and gives each an id
    that its answer, its log lines and its trace have in common.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        started_at = time.monotonic()
        request = secrets.token_hex(8)

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"deadheat-request", request.encode())]
            await send(message)

        with telemetry.doing("request", "SERVER", request=request):
            try:
                await self._app(scope, receive, watched)
            finally:
                route = getattr(scope.get("route"), "path", "unmatched")
                metrics.record_request(scope["method"], route, status, time.monotonic() - started_at)
                told = {"method": scope["method"], "route": route, "status_code": status}
                telemetry.learned(**{f"http.{name}": value for name, value in told.items()})
