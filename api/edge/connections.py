"""The server's connections: how many a client may hold, and for how long without sending or reading.

Theory of operation
-------------------
A connection costs a descriptor and some memory even if it never sends a request. The server by itself waits forever:
for a request's first line that arrives byte by byte, or for a reader that takes none of its answer. One cheap client
could thus hold every descriptor. This protocol adds four guards:

* *Waiting.* Between connecting (or the end of an answer) and the last byte of the next request's head, a connection
  waits, for at most `HEAD_SECONDS`. (Idle ones are closed earlier by the server's keep-alive.)
* *Stuck.* The kernel and the server both buffer an answer; once both are full, the connection is stuck until its reader
  takes some. A reader that takes too little in `STUCK_SECONDS` is cut off, and so is a client that keeps a closed
  connection for as long.
* *One address* may hold a limited number of connections; an IPv6 network of 64 bits counts as one. Trusted proxies are
  exempt because they serve many people.
* *All together* are limited by the available descriptors. When one of the last two limits is reached, the connection
  that has waited longest makes room for the new one, so idle connections cannot keep others out.

*Lingering.* A body or head over its limit is answered at once, while the rest is still in transit. Closing then would
reset the connection and lose the answer. So only our half is closed. For `LINGER_SECONDS`, unless the connection's
place is needed, what arrives is discarded; then the connection is closed.

A connection with a request in progress is never dropped: `api.edge.uploading` bounds the time of a body, and the routes
bound the cost of an answer. All of this runs in the event loop's thread; once a second, one pass over all connections
finds those that are overdue.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar, cast

import h11
from h11 import _connection as h11_connection
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from deadheat.api import metrics
from deadheat.api.edge.rates import counted_as
from deadheat.api.errors import PROBLEM
from deadheat.league.config import Settings

HEAD_SECONDS = 10.0
"""A head has a few hundred bytes; a network that takes longer for it is too slow for the site."""

STUCK_SECONDS = 60.0
"""A leaderboard of a megabyte needs 17 KB/s."""

LINGER_SECONDS = 30.0
"""Enough to send the rest of 20 MB at 5 Mbit/s and read the refusal."""

LOOK_SECONDS = 1.0

DESCRIPTORS_BESIDE = 256
"""Descriptors kept for databases, logs, blobs and everything else that is not a connection."""


@dataclass(eq=False, slots=True)
class _Address:
    """The connections of one address: their number, and the waiting ones in the order in which they began to wait."""

    count: int = 0
    waiting: dict[Connection, None] = field(default_factory=dict)


class Guard:
    """Limits the connections of one process."""

    def __init__(self, settings: Settings) -> None:
        self.most = min(settings.connections, _descriptors())
        self.most_of_address = settings.connections_per_address
        self._proxies = ProxyHeadersMiddleware(_nothing, settings.trusted_proxies).trusted_hosts
        self._all: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        self._addresses: dict[str, _Address] = {}
        self._looking: asyncio.TimerHandle | None = None

    def admit(self, new: Connection) -> None:
        """Count a connection, and make room for it if necessary."""
        self._all.add(new)
        address = self._addresses.setdefault(new.address, _Address())
        address.count += 1
        self.waits(new)
        metrics.connections.set(len(self._all))
        if address.count > self.most_of_address and not self._is_proxy(new):
            self._drop(next(iter(address.waiting)), "address")
        elif len(self._all) > self.most:
            self._drop(next(iter(self._waiting)), "full")
        if self._looking is None:
            self._looking = new.loop.call_later(LOOK_SECONDS, self._look, new.loop)

    def forget(self, gone: Connection) -> None:
        """Stop counting a closed connection."""
        self.is_served(gone)
        self._all.discard(gone)
        address = self._addresses[gone.address]
        address.count -= 1
        if not address.count:
            del self._addresses[gone.address]
        metrics.connections.set(len(self._all))

    def waits(self, connection: Connection) -> None:
        """Note that the connection must now send a request's head."""
        connection.waits_since = connection.loop.time()
        for waiting in (self._waiting, self._addresses[connection.address].waiting):
            waiting.pop(connection, None)
            waiting[connection] = None

    def is_served(self, connection: Connection) -> None:
        """Note that the connection's request head has arrived."""
        connection.waits_since = None
        for waiting in (self._waiting, self._addresses[connection.address].waiting):
            waiting.pop(connection, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        at = loop.time()
        for connection in [*self._all]:
            if why := connection.overdue(at):
                self._drop(connection, why)
        self._looking = loop.call_later(LOOK_SECONDS, self._look, loop) if self._all else None

    def _drop(self, connection: Connection, why: str) -> None:
        self.is_served(connection)  # so that it is not chosen again before it closes
        metrics.connections_dropped.labels(why).inc()
        connection.transport.abort()

    def _is_proxy(self, connection: Connection) -> bool:
        return connection.client is None or connection.client[0] in self._proxies


class Connection(H11Protocol):
    """The server's protocol, watched by a guard. `guarded` makes the class for a server."""

    guard: ClassVar[Guard]
    waits_since: float | None = None
    _lingers_since: float | None = None
    _stuck_since: float | None = None
    _closing_since: float | None = None

    @property
    def address(self) -> str:
        """The client's address as limits count it."""
        return counted_as(self.client[0] if self.client else "")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server's own
        super().connection_made(cast(asyncio.Transport, _Closing(transport, self)))
        self.guard.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.guard.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.lingers:
            super().data_received(data)

    @property
    def lingers(self) -> bool:
        """Whether the answer has been sent and further input is discarded."""
        return self._lingers_since is not None

    def must_linger(self) -> bool:
        """Say whether closing now would lose the answer because the request is incomplete; if so, begin to linger."""
        if self.lingers or self.conn.their_state not in {h11.SEND_BODY, h11.ERROR}:
            return False
        self._lingers_since = self.loop.time()
        self.guard.waits(self)
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request or a head that is too large; the error says which. Called by the server."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:  # an answer has already begun
            self.transport.close()
            return
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        if status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            msg = f"The head of a request may have at most {h11_connection.DEFAULT_MAX_INCOMPLETE_EVENT_SIZE} bytes."
        for event in refusal(HTTPStatus(status), msg):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def handle_events(self) -> None:
        """Handle the input that was read. Called by the server."""
        super().handle_events()
        if self.waits_since is not None and self._is_under_way():
            self.guard.is_served(self)

    def on_response_complete(self) -> None:
        """Note that an answer is complete; the next request may already be in progress. Called by the server."""
        super().on_response_complete()
        if not self._is_under_way() and not self.transport.is_closing():
            self.guard.waits(self)

    def pause_writing(self) -> None:
        self._stuck_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stuck_since = None
        super().resume_writing()

    def overdue(self, at: float) -> str:
        """Return the name of the limit that was exceeded, or an empty string."""
        if self._lingers_since is not None:
            return "lingers" if at - self._lingers_since > LINGER_SECONDS else ""
        if self.transport.is_closing():
            self._closing_since = self._closing_since or at
            return "stuck" if at - self._closing_since > STUCK_SECONDS else ""
        if self._stuck_since is not None:
            return "stuck" if at - self._stuck_since > STUCK_SECONDS else ""
        return "head" if self.waits_since is not None and at - self.waits_since > HEAD_SECONDS else ""

    def _is_under_way(self) -> bool:
        # None before the first request, although the server's types exclude it:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete


class _Closing:
    """A transport that may close only our half: see *Lingering* in the module's docstring."""

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Say whether the connection, or our half of it, is closed."""
        return self._transport.is_closing() or self._connection.lingers

    def close(self) -> None:
        """Close the connection, or only our half."""
        if self._transport.is_closing() or not self._connection.must_linger():
            self._transport.close()
            return
        self._transport.write_eof()
        self._transport.resume_reading()


def refusal(status: HTTPStatus, said: str) -> Iterator[h11.Event]:
    """Yield a problem document in answer to input that is not a valid request."""
    code = status.phrase.lower().replace(" ", "-")
    body = {"type": f"urn:deadheat:problem:{code}", "title": status.phrase, "status": status, "detail": said}
    content = json.dumps(body | {"code": code}).encode()
    headers = [("content-type", PROBLEM), ("content-length", str(len(content))), ("connection", "close")]
    yield h11.Response(status_code=status, headers=headers, reason=status.phrase)
    yield h11.Data(data=content)
    yield h11.EndOfMessage()


def guarded(settings: Settings) -> type[Connection]:
    """Return the protocol class for one server."""
    return type("GuardedConnection", (Connection,), {"guard": Guard(settings)})


def allow_descriptors() -> None:
    """Raise the descriptor limit to the system's maximum; 500 uploads would use up 1024, a usual default."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _descriptors() -> int:
    """Return how many connections the descriptors allow; an upload needs a second one for its file."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, (soft - DESCRIPTORS_BESIDE) // 2)


async def _nothing(*_: Any) -> None:
    raise AssertionError("only who is trusted is asked of it")
