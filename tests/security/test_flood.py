"""The site keeps answering everybody else during a thousand uploads at once and slow clients.

A real server process listens on a real socket; flooders, slow clients and readers have separate addresses. Nothing here
depends on the host's speed: every request must get the right answer, and clients try again when there is no room yet.
"""

import asyncio
import faulthandler
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import col, select

from deadheat.api.edge.uploading import LATER, WAIT_SECONDS
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.people.access import issue_token
from deadheat.league.service.people.users import insert_user
from deadheat.league.service.rankings.standings import refit
from deadheat.league.states import Role
from deadheat.league.tables import BotVersion
from tests.deployment import free_port
from tests.league.ground import settings
from tests.league.world import World

ROOT = Path(__file__).parents[2]
UPLOADS = int(os.environ.get("DEADHEAT_FLOOD", "1000"))
AUTHORS = 40
DAWDLERS = 300
FLOOD, DAWDLE, LOOK = "127.0.0.2", "127.0.0.3", "127.0.0.4"
GENEROUS = dict.fromkeys(("DEADHEAT_READS_PER_MINUTE", "DEADHEAT_UPLOADS_PER_HOUR"), "1000000")
BUSY, LATER_SECONDS, MOST_TRIES = 503, int(LATER["Retry-After"]), 12
"""The answer to an upload that waited too long for room; when to try again, and how often."""

PATIENCE_SECONDS = 30
"""How long a reader waits for an answer."""


@dataclass
class League:
    """What clients need to know about the league."""

    world: World
    port: int
    tokens: list[tuple[str, int]]
    season: int


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[League]:
    folder = tmp_path_factory.mktemp("flood")
    world = World(settings(folder))
    season = world.season(3)
    world.play_all()
    tokens = []
    world.write(refit, season)
    world.clock.now = datetime.now(UTC)  # the server uses the real clock, and tokens expire
    with world.db.transaction() as session:
        for number in range(AUTHORS):
            author = insert_user(session, f"flood{number}", None, Role.AUTHOR)
            bot_id = create_bot(session, author, "yacht-auction", "bot").id
            tokens.append((issue_token(session, author.id, "flood").secret, bot_id))
    with server(folder) as port:
        yield League(world, port, tokens, season)
    world.close()


@contextmanager
def server(folder: Path) -> Iterator[int]:
    port = free_port()
    environment = {**os.environ, **GENEROUS, "DEADHEAT_DATA_DIR": str(folder), "DEADHEAT_PORT": str(port)}
    command = [sys.executable, "-m", "deadheat.cli.main", "api"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        gives_up_at = time.monotonic() + 60
        while True:
            assert process.poll() is None and time.monotonic() < gives_up_at, "the server did not start"
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)


async def ask(port: int, address: str, request: bytes, body: bytes = b"") -> tuple[int, bytes]:
    """Send one request on its own connection, and return the answer's status and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    try:
        writer.write(request + b"Host: league\r\nConnection: close\r\n\r\n" + body)
        answer = await reader.read()
    finally:
        writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), rest


def upload_request(token: str, bot_id: int, length: int) -> bytes:
    return (
        f"POST /v1/bots/{bot_id}/versions HTTP/1.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n"
    ).encode()


def form(number: int) -> bytes:
    source = f"# {number}\n".encode() + b"print()\n" * 500
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="bot.py"\r\n\r\n'
    return head + source + b"\r\n--b--\r\n"


async def upload(league: League, number: int) -> tuple[list[int], float]:
    """Upload until the server is not busy; return the statuses of all answers, and when the first came."""
    token, bot_id = league.tokens[number % AUTHORS]
    body = form(number)
    statuses: list[int] = []
    first_at = 0.0
    while len(statuses) < MOST_TRIES:
        began = time.monotonic()
        status, answer = await ask(league.port, FLOOD, upload_request(token, bot_id, len(body)), body)
        statuses.append(status)
        first_at = first_at or time.monotonic()
        if status != BUSY:
            break
        assert json.loads(answer)["code"] == "busy"
        assert time.monotonic() - began >= WAIT_SECONDS, "nobody is turned away before"
        await asyncio.sleep(LATER_SECONDS)
    return statuses, first_at


async def dawdle(port: int) -> bool:
    """Send a request's head byte by byte until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(DAWDLE, 0))
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        while not reader.at_eof():
            writer.write(b"x")
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1), 1)
    except ConnectionError:
        return True
    finally:
        writer.close()
    return True


async def look(league: League, done: asyncio.Event) -> dict[str, list[float]]:
    """Ask for the pages that everybody needs until `done`, and return the seconds each took."""
    paths = {"/healthz": b"ok\n", f"/v1/seasons/{league.season}/leaderboard": b'"bot"', "/metrics": b"connections"}
    took: dict[str, list[float]] = {path: [] for path in paths}
    while not done.is_set():
        for path, content in paths.items():
            at = time.monotonic()
            request = f"GET {path} HTTP/1.1\r\n".encode()
            status, body = await asyncio.wait_for(ask(league.port, LOOK, request), PATIENCE_SECONDS)
            assert status == 200 and content in body
            took[path].append(time.monotonic() - at)
        await asyncio.sleep(0.1)
    return took


async def flood(league: League) -> tuple[Counter[int], dict[str, list[float]], float]:
    dawdlers = [asyncio.create_task(dawdle(league.port)) for _ in range(DAWDLERS)]
    done = asyncio.Event()
    looking = asyncio.create_task(look(league, done))
    began = time.monotonic()
    answers = await asyncio.gather(*(upload(league, number) for number in range(UPLOADS)))
    statuses = Counter(status for statuses, _ in answers for status in statuses)
    seconds = max(first_at for _, first_at in answers) - began
    assert all(await asyncio.gather(*dawdlers))
    done.set()
    return statuses, await looking, seconds


@pytest.mark.all
def test_a_thousand_uploads_and_dawdling_clients_keep_nobody_from_the_site(league: League) -> None:
    faulthandler.cancel_dump_traceback_later()  # the time-out is meant for tests, not for twelve tries on a busy host
    statuses, took, seconds = asyncio.run(flood(league))
    worst = {path: max(times) for path, times in took.items()}
    print(f"{UPLOADS} uploads in {seconds:.1f} s: {dict(statuses)}; longest waits meanwhile: {worst}")
    with league.world.db.reading() as session:
        bots = [bot_id for _, bot_id in league.tokens]
        stored = len(session.exec(select(BotVersion.id).where(col(BotVersion.bot_id).in_(bots))).all())
    assert statuses.keys() <= {202, BUSY}
    assert statuses[202] == UPLOADS, "nobody is turned away for good, however slow this host is"
    assert stored == UPLOADS, "what was answered 202 is there, once"
    assert all(len(times) >= 3 for times in took.values())
    if UPLOADS >= 1000:
        assert max(worst.values()) < seconds / 2, "who looks does not wait behind those who upload"
