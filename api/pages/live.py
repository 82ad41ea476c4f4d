"""News of a season as server-sent events: the number of each new ranking. Pages then fetch themselves again and
exchange the parts that changed.

Theory of operation
-------------------
A stream holds only a connection: no thread, no database session. All streams of a season read one value, which one of
them renews from the database, at most every `LOOK_SECONDS`, in a thread. A process has at most `MOST_STREAMS`
(`Streams`). A stream ends after `STREAM_SECONDS` and the browser opens another, so a stream whose reader has
silently gone does not stay. Without news, a stream sends a sign of life now and then, so that no proxy closes it.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from deadheat.api.deps import Id, Shared
from deadheat.api.edge.rates import Streams
from deadheat.api.services import Services
from deadheat.league.service.rankings.standings import newest_snapshot

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

    async def newest(self, shared: Services, season_id: int) -> int | None:
        """Return the newest ranking's number, at most `LOOK_SECONDS` old. Raises NotFound."""
        async with self._looking:
            at, newest = self._seen.get(season_id, (-LOOK_SECONDS, None))
            if time.monotonic() - at >= LOOK_SECONDS:
                newest = await run_in_threadpool(shared.read, newest_snapshot, season_id)
                if len(self._seen) > MOST_STREAMS:
                    self._seen.clear()
                self._seen[season_id] = (time.monotonic(), newest)
            return newest

    async def stream(self, shared: Services, request: Request, season_id: int, known: int | None) -> AsyncIterator[str]:
        """Yield events from `known` on."""
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
