"""A simple cap on connections for a server that no proxy protects (`deploy/nginx` has a better one).

A connection costs a descriptor and some memory even if it never sends a request, and the server by itself waits forever
for a request's head or for a reader. So a connection without a request ends after `HEAD_SECONDS`, and one whose reader
takes nothing after `STUCK_SECONDS`. One address, a trusted proxy's excepted, may hold a quarter of all connections. If
all are in use, the one that has waited longest for a request makes room. `api.edge.uploading` limits the time of a
body.
"""

import asyncio
import resource
from collections import Counter
from contextlib import suppress
from typing import Any, ClassVar, cast

import h11
from starlette.types import Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from deadheat.api import metrics
from deadheat.api.edge import Around
from deadheat.api.edge.arrival import Arrival
from deadheat.api.edge.rates import counted_as
from deadheat.league.config import Settings

HEAD_SECONDS = 10.0
"""A head has a few hundred bytes; a network that takes longer for it is too slow for the site."""

STUCK_SECONDS = 60.0
"""A leaderboard of a megabyte needs 17 KB/s."""

REST_SECONDS = 30.0
"""Enough for the rest of 20 MB at 5 Mbit/s."""

SOCKET_BYTES = 16 * 1024
"""The largest message of a WebSocket: a move is a line of at most 4 kB, in JSON."""

DESCRIPTORS_BESIDE = 256
"""Descriptors kept for databases, logs, blobs and everything else that is not a connection."""

_by_client: "dict[tuple[str, int], Connection]" = {}


class Connection(H11Protocol):
    """The server's protocol with a cap. `capped` makes the class for a server, with its limits and lists."""

    most: ClassVar[int]
    most_of_address: ClassVar[int]
    proxies: ClassVar[Any]
    of_address: ClassVar[Counter[str]]
    waiting: "ClassVar[dict[Connection, None]]"  # for a request, the longest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server's own
        super().connection_made(transport)
        self._client: tuple[str, int] = (transport.get_extra_info("peername") or ("", 0))[:2]
        self._requests, self._paused = 0, False
        self._late: asyncio.TimerHandle | None = None
        _by_client[self._client] = self
        self._address = counted_as(self._client[0])
        self.of_address[self._address] += 1
        self.serve(0)
        if self.of_address[self._address] > self.most_of_address and self._client[0] not in self.proxies:
            transport.abort()
        elif self.of_address.total() > self.most:
            longest = next(iter(self.waiting))  # it may be this one
            del self.waiting[longest]  # an aborted transport is lost only after others have been accepted
            longest.transport.abort()
        metrics.connections.set(self.of_address.total())

    def data_received(self, data: bytes) -> None:
        self._arrival = Arrival()  # of all that has been read: no more is while a request waits for the one before it
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if not getattr(self.cycle, "more_body", True):  # there is a request, and it is complete
            self.cycle.scope["state"].setdefault("arrival", self._arrival)

    def connection_lost(self, exc: Exception | None) -> None:
        self._paused = False
        self.serve(1)  # nothing is waited for any more
        self.of_address[self._address] -= 1
        if not self.of_address[self._address]:
            del self.of_address[self._address]
        if _by_client.get(self._client) is self:  # its port may have been used again
            del _by_client[self._client]
        metrics.connections.set(self.of_address.total())
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._paused = True
        self.serve(0)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._paused = False
        self.serve(0)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self.serve(1)  # for as long as it lasts, as a request under way
        super().handle_websocket_upgrade(event)
        socket = self.transport.get_protocol()
        assert isinstance(socket, Socket)
        socket.former = self

    def serve(self, more: int) -> None:
        """Count the requests under way, which are `more` than before, and limit the time until that changes."""
        self._requests += more
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self.waiting.pop(self, None)
        if self._paused or not self._requests:
            seconds = STUCK_SECONDS if self._paused else HEAD_SECONDS
            self._late = asyncio.get_running_loop().call_later(seconds, self.transport.abort)
        if not self._requests:
            self.waiting[self] = None


class Socket(WebSocketsSansIOProtocol):
    """A connection that has become a WebSocket. It counts in the cap until it is lost; pings find out whether it is."""

    former: Connection | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.former is not None:
            self.former.connection_lost(exc)


class Watched(Around):
    """Tells a connection when it serves a request. The end of an answer waits for the end of the request's body, for at
    most `REST_SECONDS`: closing a connection on which data still arrives would reset it and lose the answer.
    """

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = _by_client.get(tuple(scope["client"] or ()))  # a Unix socket has none
        if connection is None:
            return await self._app(scope, receive, send)
        more = any(name in {b"content-length", b"transfer-encoding"} for name, _ in scope["headers"])

        async def hear() -> Message:
            nonlocal more
            message = await receive()
            more = message.get("more_body", False)
            return message

        async def answer(message: Message) -> None:
            if more and message["type"] == "http.response.body" and not message.get("more_body", False):
                await send({**message, "more_body": True})
                with suppress(TimeoutError):
                    async with asyncio.timeout(REST_SECONDS):
                        while more:
                            await hear()
                message = {"type": "http.response.body"}
            await send(message)

        connection.serve(1)
        try:
            await self._app(scope, hear, answer)
        finally:
            connection.serve(-1)


def capped(settings: Settings) -> type[Connection]:
    """Return the protocol class for one server, and let the process have all descriptors that the system allows: an
    upload needs a second one for its file, and 500 uploads would use up 1024, a usual default.
    """
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    most = min(settings.connections, max(1, (descriptors - DESCRIPTORS_BESIDE) // 2))
    limits = {
        "most": most,
        "most_of_address": max(1, most // 4),
        "proxies": ProxyHeadersMiddleware(cast("Any", None), settings.trusted_proxies).trusted_hosts,
    }
    return type("CappedConnection", (Connection,), {**limits, "of_address": Counter(), "waiting": {}})
