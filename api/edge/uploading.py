"""Incoming bodies: each is bounded in size and time; uploads also in disk, threads and each author's share of both.

Theory of operation
-------------------
An upload passes through three stages, each with its own bound:

* *Beginning*: the author, the bot's owner and the quotas are checked. This takes threads and the database, for a few
  milliseconds. At most `BEGINNING` requests are in this stage at a time (`Incoming`); others wait before any
  application code runs.
* *Receiving*: the body goes to a temporary file as it arrives, which may take minutes and needs only disk. Before its
  first byte is read, an upload gets `Room` for its declared size. If it does not fit it waits, and so does its sender.
  One author has at most a quarter of all room (but always enough for one upload), so that one author's slow uploads do
  not keep others out.
* *Taking in*: inspecting archives, compressing, storing, one transaction. `TAKING_IN` separate threads do this, so that
  all other threads stay free.

Every other body is a form or a small object: at most `BODY_BYTES` in `BODY_SECONDS`. One that declares more is refused
whatever its path. Uploads may have more of both. `receive_file` counts, hashes and writes each piece as it arrives,
while the framework's form parser would read the whole body before a route sees any of it. The parser bounds headers: 8
of 4 KB.

A request that has waited for `WAIT_SECONDS` is answered with 503 and a time to try again: an upload refused after half
a minute can be sent again, while one that waits forever holds a connection.
"""

import asyncio
import hashlib
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deadheat.api.edge import Around
from deadheat.api.errors import http_error, problem
from deadheat.league.errors import UploadTooLarge

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

BEGINNING = 8
TAKING_IN = 4
WAIT_SECONDS = 30.0
AT_ONCE = 16
"""One API process reserves disk for this many of the largest uploads, hence for more smaller ones."""

PIECE_SECONDS = 15.0
"""The longest pause between two pieces of a body."""

BODY_BYTES = 64 * 1024
BODY_SECONDS = 30.0
UPLOAD_SECONDS = 300.0
"""The limits for a whole body. An upload of 16 MiB needs 56 KB/s."""

_takers: set[Callable[..., Any]] = set()

BUSY = "Too many uploads are in progress. Try again in a moment."
LATER = {"Retry-After": "10"}


def takes_upload(endpoint: Endpoint) -> Endpoint:
    """Mark a route's function as one that takes an upload, and counts its bytes itself."""
    _takers.add(endpoint)
    return endpoint


class Incoming(Around):
    """Bounds every body as it arrives, and admits `BEGINNING` uploads at a time to the checks that precede it. An
    upload whose body is being read has passed them.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        super().__init__(app)
        self._uploads = [route for route in routes if getattr(route, "endpoint", None) in _takers]
        self._gate = asyncio.Semaphore(BEGINNING)

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if scope["method"] == "POST" and any(route.matches(scope)[0] is Match.FULL for route in self._uploads):
            await self._upload(scope, receive, send)
        elif declared.isdigit() and int(declared) > BODY_BYTES:
            answer = await http_error(Request(scope), _too_large(BODY_BYTES))
            await answer(scope, receive, send)
        else:
            await self._app(scope, _bounded(receive, BODY_SECONDS, BODY_BYTES), send)

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
    """Refuse, with HTTPException, a body that is too large, or that arrives too slowly piece by piece or as a whole.

    Time counts from the first read of the body; the sender is not charged for what a route waits for before that.
    """
    ends: float | None = None
    complete = False
    total = 0

    async def timely() -> Message:
        nonlocal ends, complete, total
        if complete:  # the route now waits for the client to disconnect
            return await receive()
        at = time.monotonic()
        ends = ends or at + seconds
        try:
            async with asyncio.timeout(min(PIECE_SECONDS, ends - at)):
                message = await receive()
        except TimeoutError as slow:
            raise HTTPException(408, "The body arrived too slowly.", {"Connection": "close"}) from slow
        complete = not message.get("more_body", False)
        total += len(message.get("body", b""))
        if limit_bytes is not None and total > limit_bytes:
            raise _too_large(limit_bytes)
        return message

    return timely


def _too_large(limit_bytes: int) -> HTTPException:
    return HTTPException(413, f"The body is larger than {limit_bytes} bytes.")


@dataclass(eq=False, slots=True)
class _Waiter:
    author_id: int
    size_bytes: int
    turn: asyncio.Future[None]


class Room:
    """Disk for uploads in progress, given in order of request, except to authors who already have their share."""

    def __init__(self, total_bytes: int, upload_bytes: int) -> None:
        self._free_bytes = max(total_bytes, upload_bytes)
        self._share_bytes = max(total_bytes // 4, upload_bytes)
        self._upload_bytes = upload_bytes
        self._of_author: Counter[int] = Counter()
        self._line: deque[_Waiter] = deque()

    @asynccontextmanager
    async def take(self, author_id: int, request: Request) -> AsyncIterator[None]:
        """Reserve room for this request's body. Raises HTTPException 503 after waiting too long."""
        declared = request.headers.get("content-length", "")
        size = int(declared) if declared.isdigit() else self._upload_bytes
        size = min(size, self._upload_bytes)  # a larger body is refused while it is read
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
        except BaseException as late:  # the client is gone or waited too long
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
        """Admit all uploads that fit. One that lacks disk space stops the queue, so that large ones get their turn."""
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


FIELD = "file"
TEXT = "program"

MAX_FRAMING_BYTES = 16 * 1024
"""The most bytes that boundary lines and part headers may add to the file."""

MAX_FIELD_BYTES = 256
MAX_TEXT_BYTES = 1024 * 1024
"""The longest program that a form may send as text. A refused form's page repeats it."""


@dataclass(frozen=True, slots=True)
class Received:
    filename: str
    size_bytes: int
    sha256: str
    fields: Mapping[str, str] = field(default_factory=dict)


async def receive_file(
    request: Request, into: IO[bytes], limit_bytes: int, before: Collection[str] = (), text: IO[bytes] | None = None
) -> Received:
    """Write the form's one file, the field `FIELD`, to `into`. `before` names the fields that may precede it; that of
    these which is called `TEXT` goes to `text`.

    Raises:
        UploadTooLarge: as soon as this is certain; the rest of the body stays unread. HTTPException: 400 or 415, it is
        not such a form.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data":
        raise HTTPException(415, "Send the file as multipart/form-data, in the field 'file'.")
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise _malformed("it has no boundary")
    declared = request.headers.get("content-length", "")
    most_bytes = limit_bytes + MAX_FRAMING_BYTES + (MAX_TEXT_BYTES if text else 0)
    if declared.isdigit() and int(declared) > most_bytes:
        raise UploadTooLarge(limit_bytes)
    form = _Form(into, limit_bytes, before, text)
    callbacks: Any = {name: getattr(form, name) for name in dir(form) if name.startswith("on_")}
    parser = MultipartParser(boundary, callbacks)
    total = 0
    try:
        async for chunk in request.stream():
            total += len(chunk)
            if total > most_bytes:
                raise UploadTooLarge(limit_bytes)
            parser.write(chunk)
    except MultipartParseError as error:
        raise _malformed("it does not follow the multipart format") from error
    return form.received()


class _Form:
    """Receives the parser's callbacks."""

    def __init__(self, into: IO[bytes], limit_bytes: int, before: Collection[str], text: IO[bytes] | None) -> None:
        self._before = before
        self._text = text
        self._fields: dict[str, bytes] = {}
        self._name: str | None = None  # the field being read, if it precedes the file
        self._into = into
        self._limit_bytes = limit_bytes
        self._digest = hashlib.sha256()
        self._size = 0
        self._filename: str | None = None
        self._header = b""
        self._value = b""
        self._disposition = b""
        self._ended = False

    def received(self) -> Received:
        if not self._ended or self._filename is None:
            raise _malformed("it is cut short")
        fields = {name: value.decode("utf-8", "replace") for name, value in self._fields.items()}
        return Received(self._filename, self._size, self._digest.hexdigest(), fields)

    def on_part_begin(self) -> None:
        if self._filename is not None:
            raise _malformed(f"it has more than the one field {FIELD!r}")
        self._header = self._value = self._disposition = b""
        self._name = None

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        kind, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if kind == b"form-data" and name in self._before and name not in self._fields and b"filename" not in options:
            self._name = name
            self._fields[name] = b""
            return
        if kind != b"form-data" or options.get(b"name") != FIELD.encode() or b"filename" not in options:
            raise _malformed(f"its first field is not the file {FIELD!r}")
        self._filename = options[b"filename"].decode("utf-8", "replace")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._text is not None and self._name == TEXT:
            self._text.write(data[start:end])
            if self._text.tell() > MAX_TEXT_BYTES:
                raise UploadTooLarge(MAX_TEXT_BYTES)
            return
        if self._name is not None:
            self._fields[self._name] += data[start:end]
            if len(self._fields[self._name]) > MAX_FIELD_BYTES:
                raise _malformed(f"the field {self._name!r} is too long")
            return
        self._size += end - start
        if self._size > self._limit_bytes:
            raise UploadTooLarge(self._limit_bytes)
        piece = data[start:end]
        self._digest.update(piece)
        self._into.write(piece)

    def on_end(self) -> None:
        self._ended = True


def _malformed(why: str) -> HTTPException:
    return HTTPException(400, f"The form cannot be read: {why}.")
