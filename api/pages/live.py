"""News: server-sent events of a season, and Atom feeds (RFC 4287) of a season, a bot and a game for
people who do not visit the pages every day. An event is the number of a new ranking: pages then fetch
themselves again and exchange the parts that changed.

Theory of operation
-------------------
A stream holds only a connection: no thread, no database session. All streams of a season read one value,
which one of them renews from the database, at most every `LOOK_SECONDS`, in a thread. A process has at
most `MOST_STREAMS` (`Streams`). A stream ends after `STREAM_SECONDS` and the browser opens another, so a
stream whose reader has silently gone does not stay. Without news, a stream sends a sign of life now and
then, so that no proxy closes it.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from deadheat.api.deps import Id, Shared
from deadheat.api.edge.rates import Streams
from deadheat.api.pages.render import everyones
from deadheat.engine.figures import visible
from deadheat.engine.games import GAMES
from deadheat.league.errors import NotFound
from deadheat.league.service.rankings.standings import newest_snapshot
from deadheat.league.service.views import overview

router = APIRouter()

MOST_STREAMS = 1024
"""Half of them, for one address, are twice the visible pages of a hall of 200 people with several windows."""
LOOK_SECONDS = 2.0
STREAM_SECONDS = 300.0
SILENCE_SECONDS = 20.0


class News:
    """The newest ranking of each watched season, and the number of its readers."""

    def __init__(self) -> None:
        self.streams = Streams(MOST_STREAMS, retry_seconds=30)
        self._seen: dict[int, tuple[float, int | None]] = {}
        self._looking = asyncio.Lock()

    async def newest(self, shared: Shared, season_id: int) -> int | None:
        """Return the newest ranking's number, at most `LOOK_SECONDS` old. Raises NotFound."""
        async with self._looking:
            at, newest = self._seen.get(season_id, (-LOOK_SECONDS, None))
            if time.monotonic() - at >= LOOK_SECONDS:
                newest = await run_in_threadpool(shared.read, newest_snapshot, season_id)
                if len(self._seen) > MOST_STREAMS:
                    self._seen.clear()
                self._seen[season_id] = (time.monotonic(), newest)
            return newest

    async def stream(self, shared: Shared, request: Request, season_id: int, known: int | None) -> AsyncIterator[str]:
        with self.streams.taken(request):
            yield "retry: 5000\n\n"
            ends = time.monotonic() + STREAM_SECONDS
            sent_at = time.monotonic()
            while time.monotonic() < ends:
                newest = await self.newest(shared, season_id)
                if newest != known:
                    yield f"event: snapshot\nid: {newest}\ndata: {newest}\n\n"
                    known, sent_at = newest, time.monotonic()
                elif time.monotonic() - sent_at > SILENCE_SECONDS:
                    yield ": nothing new\n\n"
                    sent_at = time.monotonic()
                await asyncio.sleep(LOOK_SECONDS)


@router.get("/seasons/{season_id}/events")
async def events(shared: Shared, request: Request, season_id: Id, after: str = "") -> StreamingResponse:
    """Open a stream of new rankings, beginning after the last one that the browser knows: by the header Last-Event-ID,
    else by `after`, the number on its page (0: none). Without either, only later rankings are sent.
    """
    news: News = request.app.state.news
    newest = await news.newest(shared, season_id)
    last = request.headers.get("last-event-id") or after
    known = int(last) or None if last.isdecimal() and len(last) < 12 else newest
    news.streams.check(request)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    stream = news.stream(shared, request, season_id, known)
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The date of the last change in a game's feed if nothing has happened."""

KEPT = "\t\n\r\xa0\u200c\u200d\u3000"
"""Beside what is visible: spaces, and the joiners of Persian and of emoji. XML allows all of it."""

everyones_feed = partial(everyones, media_type=MEDIA_TYPE)


@router.get("/seasons/{season_id}/feed")
@everyones_feed
def season(shared: Shared, season_id: Id) -> str:
    return atom(shared, shared.read(overview.season_feed, season_id))


@router.get("/bots/{bot_id}/feed")
@everyones_feed
def bot(shared: Shared, bot_id: Id) -> str:
    return atom(shared, shared.read(overview.bot_feed, bot_id))


@router.get("/games/{name}/feed")
@everyones_feed
def game(shared: Shared, name: str) -> str:
    if name not in GAMES:
        raise NotFound("game", name)
    return atom(shared, shared.read(overview.game_feed, name, GAMES[name].title, BEGINNING))


def atom(shared: Shared, feed: overview.Feed) -> str:
    """Render the feed. Unless the site's own address is set, links are relative to the feed's address."""
    site = shared.settings.site_url
    root = Element("feed", xmlns=ATOM)
    _add(root, "id", feed.id.urn)
    _add(root, "title", f"{feed.title}, Deadheat")
    _add(root, "updated", feed.at.isoformat())
    _link(root, "self", f"{site}{feed.path}/feed", MEDIA_TYPE)
    _link(root, "alternate", f"{site}{feed.path}", "text/html")
    _add(SubElement(root, "author"), "name", "Deadheat")
    for item in feed.items:
        entry = SubElement(root, "entry")
        _add(entry, "id", item.id.urn)
        _add(entry, "title", item.title)
        _add(entry, "updated", item.at.isoformat())
        _link(entry, "alternate", f"{site}{item.path}", "text/html")
        _add(entry, "content", item.text)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = visible(text, KEPT)


def _link(parent: Element, rel: str, href: str, media_type: str) -> None:
    SubElement(parent, "link", rel=rel, href=href, type=media_type)
