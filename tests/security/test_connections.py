"""The cap on connections, the deadlines of bodies, and the room for uploads."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from deadheat.api.app import ROUTES
from deadheat.api.edge import connections, uploading
from deadheat.api.edge.connections import Connection, Watched, capped
from deadheat.api.edge.uploading import Incoming, Room
from deadheat.league.config import Settings
from tests.api.served import served
from tests.api.site import Site

PATIENCE_SECONDS = 30
"""A connection that is still open after this time will never be closed."""


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/endless` with more than buffers hold, `/waits` not at all, all else with a word."""
    if scope["type"] == "lifespan":
        await Starlette()(scope, receive, send)
        return
    if scope["path"] == "/waits":
        await receive()
        await receive()
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(1000 if scope["path"] == "/endless" else 0):
        await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def cap(**chosen: Any) -> Iterator[tuple[str, type[Connection]]]:
    protocol = capped(Settings.model_validate(chosen))
    with served(Watched(endless), protocol) as url:
        yield url, protocol


def connected(url: str, *, sending: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
    place = urlsplit(url)
    assert place.hostname and place.port
    found = socket.create_connection((place.hostname, place.port), PATIENCE_SECONDS, source_address=(source, 0))
    found.sendall(sending)
    return found


def ends(client: socket.socket) -> bool:
    """Read all that the server sends until it hangs up."""
    with suppress(ConnectionError):
        while client.recv(1_000_000):
            pass
    return True


def holds(protocol: type[Connection], number: int, waiting: int | None = None) -> None:
    """Wait until the server holds so many connections, and so many of them wait for a request."""
    gives_up_at = time.monotonic() + PATIENCE_SECONDS
    while protocol.of_address.total() != number or waiting not in {None, len(protocol.waiting)}:
        assert time.monotonic() < gives_up_at
        time.sleep(0.05)


@pytest.mark.parametrize(("path", "status"), [("/v1/users", 413), ("/v1/bots/1/versions", 401)])
def test_who_sends_too_much_reads_why_it_was_refused(site: Site, path: str, status: int) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5000000\r\n\r\n"
    with served(site.app, capped(site.world.settings)) as url, connected(url, sending=head.encode()) as client:
        client.sendall(b"a" * 5_000_000)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 %d" % status)


def test_who_goes_on_sending_for_ever_is_cut_off(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REST_SECONDS", 0.2)
    head = b"POST /v1/bots/1/versions HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"
    with served(site.app, capped(site.world.settings)) as url, connected(url, sending=head) as client:
        assert client.recv(12) == b"HTTP/1.1 401"
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
        assert ends(client)


@pytest.mark.parametrize(
    ("limit", "sending"),
    [
        pytest.param("HEAD_SECONDS", b"", id="silent"),
        pytest.param("HEAD_SECONDS", b"GET / HTTP/1.1\r\nX: ", id="slow head"),
        pytest.param("HEAD_SECONDS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET ", id="slow second head"),
        pytest.param("STUCK_SECONDS", b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n", id="slow reader"),
    ],
)
def test_a_slow_client_is_cut_off(limit: str, sending: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, limit, 0.5)
    with cap() as (url, protocol), connected(url, sending=sending) as slow:
        if limit == "STUCK_SECONDS":
            assert slow.recv(1)
            holds(protocol, 0)
        assert ends(slow)
        monkeypatch.setattr(connections, limit, 60)
        assert httpx.get(url).text == "ok"


def test_an_address_has_a_quarter_of_all_connections_and_a_proxy_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600)
    with cap(connections=12, trusted_proxies="127.0.0.9") as (url, protocol), ExitStack() as stack:
        for number in range(1, 9):
            stack.enter_context(connected(url, source="127.0.0.1" if number < 4 else "127.0.0.9"))
            holds(protocol, number)
        assert ends(stack.enter_context(connected(url)))
        holds(protocol, 8)


def test_whoever_waits_makes_room_for_whoever_comes_but_not_who_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600)
    with cap(connections=8) as (url, protocol), ExitStack() as stack:
        stack.enter_context(connected(url, sending=b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n"))
        holds(protocol, 1, waiting=0)
        idle = []
        for number in range(2, 9):
            idle.append(stack.enter_context(connected(url, source=f"127.0.0.{number}")))
            holds(protocol, number)
        assert httpx.get(url).text == "ok"
        assert ends(idle[0])
        assert protocol.of_address["127.0.0.1"] >= 1, "who is served stays"


def test_who_comes_while_all_are_served_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600)
    waits = b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n"
    with cap(connections=8) as (url, protocol), ExitStack() as stack:
        for number in range(8):
            stack.enter_context(connected(url, sending=waits, source=f"127.0.0.{1 + number // 2}"))
            holds(protocol, number + 1, waiting=0)
        assert ends(stack.enter_context(connected(url, source="127.0.0.9")))
        holds(protocol, 8, waiting=0)


class Wire(asyncio.Transport):
    """A connection that the server has accepted, and that is lost only in a later turn of its loop."""

    def __init__(self, port: int) -> None:
        super().__init__({"peername": (f"127.0.0.{port}", port)})
        self.aborted = 0

    def abort(self) -> None:
        self.aborted += 1


def test_of_many_that_come_at_once_one_goes_for_each_above_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(H11Protocol, "connection_made", lambda self, transport: setattr(self, "transport", transport))

    async def run() -> list[int]:
        protocol, wires = capped(Settings(connections=4)), [Wire(port) for port in range(1, 11)]
        for wire in wires:
            protocol.__new__(protocol).connection_made(wire)
        return [wire.aborted for wire in wires]

    assert asyncio.run(run()) == [1] * 6 + [0] * 4


@pytest.mark.parametrize(
    ("setting", "seconds"), [("PIECE_SECONDS", 0.2), ("BODY_SECONDS", 0.2), ("UPLOAD_SECONDS", 0.2)]
)
def test_a_body_that_comes_too_slowly_is_given_up(site: Site, monkeypatch, setting: str, seconds: float) -> None:
    monkeypatch.setattr(uploading, setting, seconds)
    ada = site.author()
    upload = setting == "UPLOAD_SECONDS"
    path = f"/v1/bots/{site.bot(ada)}/versions" if upload else "/v1/users"
    kind = "multipart/form-data; boundary=b" if upload else "application/json"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {ada['Authorization']}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: 1000\r\n\r\n-"
    )
    with served(site.app) as url, connected(url, sending=head.encode()) as slow:
        answer = b""
        while piece := slow.recv(1000):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408") and b"connection: close" in answer.lower()


class Person(Request):
    """A request with an upload of this many bytes."""

    def __init__(self, length: int | None) -> None:
        headers = [] if length is None else [(b"content-length", str(length).encode())]
        super().__init__({"type": "http", "headers": headers})


async def let_in(room: Room, author_id: int, length: int | None, order: list[Any], until_: asyncio.Event) -> None:
    try:
        async with room.take(author_id, Person(length)):
            order.append((author_id, length))
            await until_.wait()
    except HTTPException as refused:
        order.append(refused.status_code)


def test_uploads_have_room_in_turn_and_no_author_has_it_all() -> None:
    async def run() -> None:
        room, leave, order = Room(400, 100), asyncio.Event(), list[Any]()
        asks = [(1, 60), (1, 60), (2, 100), (3, None), (4, 100), (5, 100), (6, 10)]
        tasks = [asyncio.create_task(let_in(room, who, size, order, leave)) for who, size in asks]
        await asyncio.sleep(0.05)
        # One author has at most a quarter; an unknown size counts as the largest; the queue stops at author 5.
        assert order == [(1, 60), (2, 100), (3, None), (4, 100)]
        leave.set()
        await asyncio.gather(*tasks)
        assert sorted(order[4:]) == [(1, 60), (5, 100), (6, 10)]
        assert (room._free_bytes, dict(room._of_author), len(room._line)) == (400, {}, 0)

    asyncio.run(run())


def test_who_waits_for_room_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploading, "WAIT_SECONDS", 0.05)

    async def run() -> None:
        room, leave, order = Room(100, 100), asyncio.Event(), list[Any]()
        holding = asyncio.create_task(let_in(room, 1, 100, order, leave))
        await asyncio.sleep(0)
        await let_in(room, 2, 100, order, leave)
        gone = asyncio.create_task(let_in(room, 3, 100, order, leave))
        await asyncio.sleep(0)
        gone.cancel()
        assert order == [(1, 100), 503]
        leave.set()
        await asyncio.gather(holding, gone, return_exceptions=True)
        assert (room._free_bytes, len(room._line)) == (100, 0)

    asyncio.run(run())


def test_only_some_uploads_begin_at_a_time_and_the_others_are_told_when_that_lasts(site: Site, monkeypatch) -> None:
    monkeypatch.setattr(uploading, "WAIT_SECONDS", 0.05)
    inside = 0

    async def looks(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal inside
        inside += 1
        await go_on.wait()
        await receive()

    async def run() -> list[int]:
        statuses = []

        async def send(message: Any) -> None:
            if "status" in message:
                statuses.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.request"}

        gate = Incoming(looks, [*ROUTES])
        scope = {"type": "http", "method": "POST", "path": "/v1/bots/1/versions", "headers": [], "app": site.app}
        asked = [asyncio.create_task(gate(scope, receive, send)) for _ in range(uploading.BEGINNING + 3)]
        await asyncio.sleep(0.3)
        assert inside == uploading.BEGINNING
        go_on.set()
        await asyncio.gather(*asked)
        await gate(scope, receive, send)
        return statuses

    go_on = asyncio.Event()
    assert asyncio.run(run()) == [503] * 3
    assert inside == uploading.BEGINNING + 1
