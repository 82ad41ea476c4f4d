"""Services that routes share: settings, connections, the queue, caches. There is one object per application."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from anyio import CapacityLimiter, Lock
from fastapi.templating import Jinja2Templates
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session
from starlette.responses import Response
from starlette.types import Scope

from deadheat.api.edge.rates import Rates
from deadheat.api.edge.uploading import AT_ONCE, MAX_FRAMING_BYTES, TAKING_IN, Room
from deadheat.engine.language import language
from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.service.ground.life import Life
from deadheat.league.service.people import access
from deadheat.league.service.rankings.standings import Leaderboard, newest_snapshot, stored_ranking, totals_of

if TYPE_CHECKING:
    from deadheat.api.edge.openid import Provider
    from deadheat.api.routes.environment import Readiness

log = logging.getLogger(__name__)

SITE = Path(__file__).resolve().parent.parent / "dashboards" / "site"


class Queue(Protocol):
    """The part of the queue that the API needs."""

    def enqueue(self, life: Life, row_id: int) -> None:
        """Nudge a worker. Raises the broker's errors."""

    def check(self) -> None:
        """Raise the broker's error if it cannot be reached or takes no message."""


class CeleryQueue:
    """The real queue. Celery is imported on first use, so that tests and tools do without it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def enqueue(self, life: Life, row_id: int) -> None:
        from deadheat.workers.broker import queue

        queue.enqueue(life, row_id)

    def check(self) -> None:
        from deadheat.workers.broker import queue

        queue.check(self._settings, CHECK_SECONDS)


CHECK_SECONDS = 2
CACHED_BODIES = 256
KEPT_BOARDS = 8
"""The number of seasons whose newest ranking is kept. A ranking of 2,000 bots is a text of 1.3 MB."""

KEPT_PARTS = 64
"""The number of kept pieces of pages and of their data. A page of a leaderboard has 150 kB, the meetings of
an evaluation of 1,600 players over 20 rounds some megabytes."""

SHOWING = 4
"""Threads that only render public pages, so that nobody who uploads or signs in can occupy them."""

FITS_BYTES = 1000
"""Smaller answers are not compressed, because they fit into one packet anyway."""

PACKED = 5
"""The level of gzip: half the time of the usual 9, and 2 % more bytes."""

FRESH_SECONDS = 1.0
"""How long a cached answer is sent without asking the database whether it is still the newest."""


@dataclass(slots=True)
class Body:
    """An answer ready to be sent. `version`: the state from which it was made; `etag`: for clients to compare.

    `answers`: see `api.edge.caching.whole`.
    """

    version: object
    etag: str
    content: bytes
    media_type: str
    answers: dict[bool, Response] = field(default_factory=dict, init=False, compare=False, repr=False)
    _packed: bytes | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def packs(self) -> bool:
        return worth_packing(len(self.content), self.media_type)

    def packed(self) -> bytes:
        """Return the content compressed with gzip, once."""
        if self._packed is None:
            self._packed = gzip.compress(self.content, PACKED, mtime=0)
        return self._packed


def worth_packing(size_bytes: int, media_type: str) -> bool:
    """Say whether compression makes content of that size and kind much smaller."""
    return size_bytes > FITS_BYTES and (media_type == "image/svg+xml" or not media_type.startswith(("image/", "font/")))


class Bodies:
    """Answers kept as bytes. The least recently used ones are dropped first.

    `key` is the request, `version` the state on which the answer depends. Within `FRESH_SECONDS`, the version
    is not checked. Two threads may make the same body at once: the later one stays.

    Several threads keep answers, but only one at a time, since one could otherwise drop an answer that
    another is about to move. Reading is a single look-up in a dictionary and takes no lock.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._keeping = threading.Lock()
        self._kept: OrderedDict[object, tuple[float, Body]] = OrderedDict()
        self._addresses: OrderedDict[Address, tuple[object, object]] = OrderedDict()

    def remember(self, scope: Scope, key: object) -> None:
        """Keep this request's answer by address and language, so that `at` finds it."""
        with self._keeping:
            _put_last(self._addresses, _address(scope), (key, scope["route"]))

    def at(self, scope: Scope) -> Body | None:
        """Return the answer to a request for this address if it is `fresh`. `scope` gets the route."""
        known = self._addresses.get(_address(scope))
        body = None if known is None else self.fresh(known[0])
        if known is not None and body is not None:
            scope["route"] = known[1]
        return body

    def fresh(self, key: object) -> Body | None:
        """Return the answer if it was checked within the last `FRESH_SECONDS`."""
        entry = self._kept.get(key)
        if entry is None or self._seconds() - entry[0] > FRESH_SECONDS:
            return None
        return entry[1]

    def current(self, key: object, version: object) -> Body | None:
        """Return the answer if it was made from this version; it then counts as just checked."""
        entry = self._kept.get(key)
        if entry is None or entry[1].version != version:
            return None
        return self.keep(key, entry[1])

    def keep(self, key: object, body: Body) -> Body:
        """Keep an answer that was just made or checked."""
        with self._keeping:
            _put_last(self._kept, key, (self._seconds(), body))
        return body


Key = TypeVar("Key")
Given = ParamSpec("Given")
Value = TypeVar("Value")


def _put_last(kept: OrderedDict[Key, Value], key: Key, value: Value, most: int = CACHED_BODIES) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


Address = tuple[str, str, bytes]


def _address(scope: Scope) -> Address:
    return language(), scope["path"], scope["query_string"]


class Boards:
    """The newest rankings of the seasons that people view. The least recently used ones are dropped first. A
    ranking never changes.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Leaderboard] = OrderedDict()
        self._parts: OrderedDict[Hashable, Any] = OrderedDict()

    def newest(self, session: Session, season_id: int) -> Leaderboard:
        """Return the newest ranking. If it is kept, the database is only asked for its number. Raises NotFound."""
        newest = newest_snapshot(session, season_id)
        board = self._kept.get(season_id)
        if board is None or board.snapshot_id != newest:
            board = stored_ranking(session, season_id, newest)
        _put_last(self._kept, season_id, board, KEPT_BOARDS)
        return board

    def totals(self, session: Session, snapshot_id: int) -> dict[str, Any]:
        """Return the totals of the log from which a ranking was made."""
        return self.part(("totals", snapshot_id), lambda: totals_of(session, snapshot_id))

    def part(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of `make`, kept under the key. The key names the rankings from which it is made;
        `make` reads nothing else that may change.
        """
        return self.newest_part(key, None, make)

    def newest_part(self, key: Hashable, version: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of `make`, kept until another version of it is requested."""
        part: tuple[Hashable, Value] | None = self._parts.get(key)
        if part is None or part[0] != version:
            part = version, make()
        _put_last(self._parts, key, part, KEPT_PARTS)
        return part[1]


@dataclass
class Services:
    """The services that all requests of one application share."""

    settings: Settings
    db: Database
    blobs: Blobs
    queue: Queue
    pages: Jinja2Templates
    rates: Rates
    bodies: Bodies = field(default_factory=Bodies)
    boards: Boards = field(default_factory=Boards)
    provider: Provider | None = field(init=False, default=None)
    room: Room = field(init=False)
    taking_in: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(TAKING_IN))
    showing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(SHOWING))
    measuring: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(2))
    checking: Lock = field(default_factory=Lock)
    checked: tuple[float, Readiness] | None = None

    def __post_init__(self) -> None:
        limit_bytes = self.settings.upload_limit_bytes
        self.room = Room(AT_ONCE * limit_bytes, limit_bytes + MAX_FRAMING_BYTES)
        if self.settings.openid_issuer:
            from deadheat.api.edge.openid import Provider

            self.provider = Provider(self.settings)

    def read(
        self, query: Callable[Concatenate[Session, Given], Value], *args: Given.args, **more: Given.kwargs
    ) -> Value:
        """Return the result of one query."""
        with self.db.reading() as session:
            return query(session, *args, **more)

    def change(
        self, use: Callable[Concatenate[Session, Given], Value], *args: Given.args, **more: Given.kwargs
    ) -> Value:
        """Carry out one use case, in a transaction of its own, and return its result."""
        with self.db.transaction() as session:
            return use(session, *args, **more)

    def note_use(self, token_id: int) -> None:
        """Note a token's use. A failure of this must not fail the request."""
        try:
            with self.db.transaction() as session:
                access.note_use(session, token_id)
        except SQLAlchemyError:
            log.warning("could not note the use of token %d", token_id, exc_info=True)

    def nudge(self, life: Life, row_id: int) -> None:
        """Tell a worker of a committed row. An unreachable broker must not fail a request: the sweeper finds rows."""
        try:
            self.queue.enqueue(life, row_id)
        except Exception:  # brokers raise many kinds of exceptions, which do not concern the author
            log.warning("%s %d could not be enqueued; the sweeper will", life.queue, row_id, exc_info=True)
