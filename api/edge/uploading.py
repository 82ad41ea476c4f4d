"""Bodies that come in: each is bounded in size and time, uploads in disk, threads and what one author has of both.

Theory of operation
-------------------
An upload goes through three stages, and each has a bound of its own:

* *Beginning*: who asks, whose bot, which quotas. That takes threads and the database, a few milliseconds. At most
  `BEGINNING` requests are there at a time (`Incoming`); others wait before anything of the application runs for them.
* *Receiving*: the body goes to a temporary file while it comes, which may take minutes and needs nothing but disk. An
  upload is given `Room` for as many bytes as it says that it has, before its first byte is read; what does not fit
  waits, and its sender's network does so with it. One author has at most a quarter of all room (but always enough
  for one upload), so that slow uploads of one author do not keep others out.
* *Taking in*: looking into archives, compressing, storing, one transaction. `TAKING_IN` threads of their own do that,
  so that the threads of everybody else are free meanwhile.

Every other body is a form or an object of some fields: `BODY_BYTES` in `BODY_SECONDS`. An upload has more of both, and
counts its bytes for itself (`api.edge.multipart`).

Who has waited for `WAIT_SECONDS` is told 503 and when to come back: an upload refused after half a minute can be sent
again, while one that waits for ever holds a connection.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.edge.multipart import MAX_FRAMING_BYTES
from api.errors import problem

BEGINNING = 8
TAKING_IN = 4
WAIT_SECONDS = 30.0
AT_ONCE = 16
"""One API process gives its uploads disk for so many of the largest; of smaller ones there is room for more."""

PIECE_SECONDS = 15.0
"""Between two pieces of a body."""

BODY_BYTES = 64 * 1024
BODY_SECONDS = 30.0
UPLOAD_SECONDS = 300.0
"""For a whole body. An upload of 16 MiB needs 56 KB/s."""

CLOSE = {"Connection": "close"}
BUSY = "Too many uploads are in progress. Try again in a moment."
LATER = {"Retry-After": "10", "Connection": "close"}


def is_upload(scope: Scope) -> bool:
    """Whether this request brings a version, to the API or to a page."""
    if scope["type"] != "http" or scope["method"] != "POST":  # the lifespan of a server has neither method nor path
        return False
    path: str = scope["path"]
    return path.rstrip("/").endswith("/versions")


class Incoming:
    """Bounds every body while it comes, and lets `BEGINNING` uploads at a time find out whether they are welcome. An
    upload that begins to read its body has found out.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._gate = asyncio.Semaphore(BEGINNING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_upload(scope):
            await self._upload(scope, receive, send)
        elif scope["type"] == "http":
            await self._app(scope, _bounded(receive, BODY_SECONDS, BODY_BYTES), send)
        else:
            await self._app(scope, receive, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await asyncio.wait_for(self._gate.acquire(), WAIT_SECONDS)
        except TimeoutError:
            answer = problem(Request(scope), 503, "busy", BUSY, headers=LATER)
            await answer(scope, receive, send)
            return
        begins = True

        def pass_on() -> None:
            nonlocal begins
            if begins:
                begins = False
                self._gate.release()

        bounded = _bounded(receive, UPLOAD_SECONDS, None)

        async def passing() -> Message:
            pass_on()
            return await bounded()

        try:
            await self._app(scope, passing, send)
        finally:
            pass_on()


def _bounded(receive: Receive, seconds: float, limit_bytes: int | None) -> Receive:
    """A body that comes too slowly, piece by piece or as a whole, or is too large, is given up: HTTPException.

    Time counts from when the body is first asked for; what a route waits for before it is not its sender's fault.
    """
    ends: float | None = None
    complete = False
    total = 0

    async def timely() -> Message:
        nonlocal ends, complete, total
        if complete:  # what is waited for now is that the client goes
            return await receive()
        at = time.monotonic()
        ends = ends or at + seconds
        try:
            async with asyncio.timeout(min(PIECE_SECONDS, ends - at)):
                message = await receive()
        except TimeoutError as slow:
            raise HTTPException(408, "The body arrived too slowly.", CLOSE) from slow
        complete = not message.get("more_body", False)
        total += len(message.get("body", b""))
        if limit_bytes is not None and total > limit_bytes:
            raise HTTPException(413, f"The body is larger than {limit_bytes} bytes.", CLOSE)
        return message

    return timely


@dataclass(eq=False, slots=True)
class _Waiter:
    """Somebody in the line."""

    author_id: int
    size_bytes: int
    turn: asyncio.Future[None]


class Room:
    """Disk for uploads under way, given in the order in which it was asked for, except to who has his share already."""

    def __init__(self, total_bytes: int, upload_bytes: int) -> None:
        self._free_bytes = max(total_bytes, upload_bytes)
        self._share_bytes = max(total_bytes // 4, upload_bytes)
        self._upload_bytes = upload_bytes
        self._of_author: Counter[int] = Counter()
        self._line: deque[_Waiter] = deque()

    @asynccontextmanager
    async def take(self, author_id: int, request: Request) -> AsyncIterator[None]:
        """Room for this request's body. Raises HTTPException: 503, there was none for too long."""
        declared = request.headers.get("content-length", "")
        size = int(declared) if declared.isdigit() else self._upload_bytes
        size = min(size, self._upload_bytes)  # more is refused as soon as it is read
        await self._wait(_Waiter(author_id, size, asyncio.get_running_loop().create_future()))
        try:
            yield
        finally:
            self._give_back(author_id, size)

    async def _wait(self, waiter: _Waiter) -> None:
        self._line.append(waiter)
        self._let_in()
        try:
            await asyncio.wait_for(asyncio.shield(waiter.turn), WAIT_SECONDS)
        except BaseException as late:  # the client has gone, or its time is over
            if waiter.turn.done():
                self._give_back(waiter.author_id, waiter.size_bytes)
            else:
                self._line.remove(waiter)
            if isinstance(late, TimeoutError):
                raise HTTPException(503, BUSY, LATER) from late
            raise

    def _give_back(self, author_id: int, size_bytes: int) -> None:
        self._free_bytes += size_bytes
        self._of_author[author_id] -= size_bytes
        if not self._of_author[author_id]:
            del self._of_author[author_id]
        self._let_in()

    def _let_in(self) -> None:
        """Whoever fits. One who does not for want of disk stops the line, so that a large upload's turn comes too."""
        left: deque[_Waiter] = deque()
        while self._line:
            waiter = self._line.popleft()
            if self._of_author[waiter.author_id] + waiter.size_bytes > self._share_bytes:
                left.append(waiter)
            elif waiter.size_bytes > self._free_bytes:
                left.append(waiter)
                break
            else:
                self._free_bytes -= waiter.size_bytes
                self._of_author[waiter.author_id] += waiter.size_bytes
                waiter.turn.set_result(None)
        self._line = left + self._line


def room_for_uploads(limit_bytes: int) -> Room:
    """Room for uploads of at most `limit_bytes` each with what the form adds."""
    return Room(AT_ONCE * limit_bytes, limit_bytes + MAX_FRAMING_BYTES)
