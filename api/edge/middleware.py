"""Middleware around every request: headers for browsers, answers from memory, measurement, and the
reader's language.

That is the one chosen on the site and kept in a cookie, or else the browser's. Answers to programs (the
API, its reference's scripts, health checks) are in English, and the same for all. The exceptions are
documents that the viewer draws: their sentences are in the language that the address names.
"""

import os
import re
import time
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deadheat.api import metrics
from deadheat.api.edge import Around
from deadheat.api.edge.caching import answer, whole
from deadheat.api.errors import problem
from deadheat.api.schemas import is_plain
from deadheat.api.services import Bodies
from deadheat.engine.language import reading
from deadheat.league import telemetry
from deadheat.league.locale import LANGUAGES, catalogue, preferred

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors {framed_by}"
)
"""Content policy of every page. `framed_by`: the sites that may show it in a frame."""

_OWN_POLICY = POLICY.format(framed_by="'none'").encode()
API = "1.0"
"""The version of the API, stated in every answer: the first number counts breaking changes, the second
additions. A client with another first number refuses to continue (`cli.server.api_client`)."""

_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would remove the Origin that api.edge.sessions needs
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"deadheat-api", API.encode()),
)
_POLICY_NAME = b"content-security-policy"
_HTTPS_ALONE = (b"strict-transport-security", b"max-age=31536000")
"""Valid for a year and for this host only. Browsers heed it only over https."""

_KEEPING = b"cache-control"
_NOT_KEPT = (_KEEPING, b"no-store")
_PERSONAL = frozenset({b"authorization", b"cookie"})


class SecurityHeaders(Around):
    """Keeps pages from running foreign code, being framed, or revealing their address to other sites. A route
    that may be framed sets `POLICY` itself. Caches store no answer to a request with a token or session,
    unless the route says otherwise.
    """

    def __init__(self, app: ASGIApp, by_https: bool) -> None:
        super().__init__(app)
        self._by_https = by_https

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        by_https = self._by_https or scope["scheme"] == "https"

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *_SECURITY]
                if by_https:
                    headers.append(_HTTPS_ALONE)
                named = {name for name, _ in headers}
                if _POLICY_NAME not in named:  # the API's reference sets its own
                    headers.append((_POLICY_NAME, _OWN_POLICY))
                if _KEEPING not in named and not _PERSONAL.isdisjoint(name for name, _ in scope["headers"]):
                    headers.append(_NOT_KEPT)
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, with_headers)


class HeadAsGet(Around):
    """Answers HEAD like GET without the body, as every server must (RFC 9110, 9.1); routes handle only GET."""

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


class PlainAddresses(Around):
    """Refuses addresses that contain control characters; bodies are checked by `api.schemas.PLAIN`."""

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_plain(scope["path"] + unquote(scope["query_string"].decode("latin-1"))):
            await self._app(scope, receive, send)
            return
        answer = problem(Request(scope), 422, "invalid", "The address contains control characters.")
        await answer(scope, receive, send)


class FromMemory(Around):
    """Answers from memory, before routing, if the page is the same for everyone and was requested recently.
    Routing takes more than twice as long as sending the page (`scripts/bench site`).
    """

    def __init__(self, app: ASGIApp, bodies: Bodies) -> None:
        super().__init__(app)
        self._bodies = bodies

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self._bodies.at(scope) if scope["method"] == "GET" else None
        if body is None:
            answering = self._app
        elif any(name == b"if-none-match" for name, _ in scope["headers"]):
            answering = answer(Request(scope), body)
        else:
            answering = whole(scope, body)
        await answering(scope, receive, send)


class MeasuredRequests(Around):
    """Counts and times requests by route (by path there would be one series for each bot), and gives each an
    id that its answer, log lines and trace share.
    """

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 500
        started_at = time.monotonic()
        request = os.urandom(8).hex()

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
                telemetry.learned(**{"http.method": scope["method"], "http.route": route, "http.status_code": status})


LANGUAGE_COOKIE = "language"
LANGUAGE_SECONDS = 365 * 86_400

_CHOSEN = re.compile(rb"(?:^|;)\s*" + LANGUAGE_COOKIE.encode() + rb"=([a-z]{2})\s*(?:;|$)")
_SAME_FOR_ALL = ("/v1/", "/api/", "/static/", "/healthz", "/readyz", "/metrics")
_IN_WORDS = ("/replay", "/live")
"""The API's documents with sentences in the language that the address names: `?language=ko`."""

_VARY = (b"vary", b"Accept-Language, Cookie")


class ReadersLanguage(Around):
    """Answers requests for pages in the reader's language, and tells caches what the answer depends on."""

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(_SAME_FOR_ALL):
            with reading(catalogue(_named(scope))):
                await self._app(scope, receive, send)
            return
        liked, language = b"", ""
        for name, value in scope["headers"]:
            if name == b"cookie" and (chosen := _CHOSEN.search(value)) and chosen[1].decode() in LANGUAGES:
                language = language or chosen[1].decode()
            elif name == b"accept-language":
                liked = value
        language = language or (preferred(liked.decode("latin-1")) if liked else "en")
        header = (b"content-language", language.encode())

        async def with_language(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], _VARY, header]
            await send(message)

        with reading(catalogue(language)):
            await self._app(scope, receive, with_language)


def _named(scope: Scope) -> str:
    """Return the language that a document's address names, or English."""
    if scope["path"].endswith(_IN_WORDS):
        query: bytes = scope["query_string"]
        for name, value in parse_qsl(query.decode("latin-1")):
            if name == "language" and value in LANGUAGES:
                return value
    return "en"
