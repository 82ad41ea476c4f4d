"""The reader's language: the one chosen on the site and kept in a cookie, or else the browser's.

Answers to programs (the API, its reference's scripts, health checks) are in English, and the same for all. The
exceptions are documents that the viewer draws: their sentences are in the language that the address names.
"""

import re
from urllib.parse import parse_qsl

from starlette.types import Message, Receive, Scope, Send

from deadheat.api.edge import Around
from deadheat.engine.language import reading
from deadheat.league.locale import LANGUAGES, catalogue, preferred

COOKIE = "language"
KEPT_SECONDS = 365 * 86_400

_CHOSEN = re.compile(rb"(?:^|;)\s*" + COOKIE.encode() + rb"=([a-z]{2})\s*(?:;|$)")
_SAME_FOR_ALL = ("/v1/", "/static/", "/healthz", "/readyz", "/metrics")
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
        language = of_reader(scope)
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


def of_reader(scope: Scope) -> str:
    """Return the language in which a request is answered."""
    liked = b""
    for name, value in scope["headers"]:
        if name == b"cookie":
            chosen = _CHOSEN.search(value)
            if chosen and chosen[1].decode() in LANGUAGES:
                return chosen[1].decode()
        elif name == b"accept-language":
            liked = value
    return preferred(liked.decode("latin-1")) if liked else "en"
