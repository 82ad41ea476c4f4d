"""What the site's pages cost in a large league: 2,000 bots and 1,000,000 matches in SQLite.

    ./scripts/bench site [--short] [--folder FOLDER]

(a) The leaderboard as it is kept, beside an application that does nothing but send the same body: CPU time of the
server's process for each request, over the same server (uvicorn) and sockets, in turns. The page, and the JSON.
(b) Pages as they are made when no answer is kept: CPU time with the client's part of about a millisecond, statements to
the database, and size. Then those that show rankings, when no ranking is kept either.

`--folder` keeps the league that is made, or uses the one that is there.
"""

import http.client
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from sqlmodel import select

from deadheat.api.edge import sessions
from deadheat.league.database import Database
from deadheat.league.service.people.access import begin_session
from deadheat.league.service.rulings.closing import set_role
from deadheat.league.states import Role
from deadheat.league.tables import User
from tests.benchmarks.contests.pages import Anew
from tests.benchmarks.crowd import crowd
from tests.benchmarks.targets import Targets, arguments
from tests.deployment import free_port
from tests.league.ground import settings

TARGET = 1.5
"""A multiple of raw bytes' CPU time."""

ROUNDS = 7

READ_FROM_RANKING = (
    *("home", "leaderboard", "leaderboard, page 15", "leaderboard, search", "leaderboard, language", "participants"),
    *("bot", "last bot", "opponents", "author", "game", "statistics", "audit"),
)


def main() -> int:
    parser = arguments(__doc__, "20,000 matches, and fewer requests")
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    targets = Targets(chosen.short)
    bots, matches = 2_000, 20_000 if chosen.short else 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        if not (folder / "deadheat.sqlite3").exists():
            started = time.monotonic()
            crowd(folder, bots, matches)
            print(f"{bots} bots and {matches} matches made in {time.monotonic() - started:.0f} s.\n")
        kept(targets, folder, requests=100 if chosen.short else 1000)
        made(folder, times=2 if chosen.short else 5)
    return targets.report()


# (a) Kept ---------------------------------------------------------------------------------------------------------


def kept(targets: Targets, folder: Path, requests: int) -> None:
    print("(a) CPU of the server for a request that is answered from memory")
    for name, path in (("leaderboard, page", "/seasons/1"), ("leaderboard, JSON", "/v1/seasons/1/leaderboard")):
        ours, raw, size = beside_raw(folder, path, requests)
        ratios = [one / other for one, other in zip(ours, raw, strict=True)]
        ratio = targets.shown(name, statistics.median(ratios), most=TARGET, form=".2f")
        print(
            f"    {name:18} {size / 1000:7.0f} kB  ours {1e6 * statistics.median(ours):5.0f} us"
            f"  raw {1e6 * statistics.median(raw):5.0f} us  {ratio}, {min(ratios):.2f} to {max(ratios):.2f}"
        )
    print()


def beside_raw(folder: Path, path: str, requests: int) -> tuple[list[float], list[float], int]:
    """Measure the CPU seconds of a request in each round, ours and raw; return them and the body's bytes."""
    environment = {**os.environ, "DEADHEAT_DATA_DIR": str(folder)}
    with server(["tests.benchmarks.kept:app", "--factory"], environment) as (ours_id, ours):
        body = ask(ours, path, 1)
        stored = folder / "bench-body"
        stored.write_bytes(body)
        environment["DEADHEAT_BENCH_BODY"] = str(stored)
        with server(["tests.benchmarks.raw:app"], environment) as (raw_id, raw):
            assert ask(raw, path, requests // 4) == body == ask(ours, path, requests // 4)
            rounds = [(cost(ours_id, ours, path, requests), cost(raw_id, raw, path, requests)) for _ in range(ROUNDS)]
    return [one for one, _ in rounds], [other for _, other in rounds], len(body)


@contextmanager
def server(application: list[str], environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """Run a server; yield its process and its port."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", *application, "--port", str(port), "--log-level", "error"]
    process = subprocess.Popen([*command, "--no-access-log", "--no-server-header"], env=environment)
    try:
        _wait_for(port, process)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the server did not start"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("the server did not answer")


def ask(port: int, path: str, requests: int) -> bytes:
    """Send that many requests in turn over one connection; return the last answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = b""
    for _ in range(requests):
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body[:500]
    connection.close()
    return body


def cost(process_id: int, port: int, path: str, requests: int) -> float:
    """Measure the CPU seconds of a request, all threads of the server together."""
    before = _cpu_ns(process_id)
    ask(port, path, requests)
    return (_cpu_ns(process_id) - before) / requests / 1e9


def _cpu_ns(process_id: int) -> int:
    return time.clock_gettime_ns((~process_id << 3) | 2)  # see clock_getcpuclockid(3); it includes threads that ended


# (b) Made ---------------------------------------------------------------------------------------------------------


def made(folder: Path, times: int) -> None:
    chosen = settings(folder)
    database = Database(chosen)
    anew = Anew(chosen, database, _administrator(database))
    print("(b) Pages that are made anew")
    print(f"    {'':28}{'CPU, ms':>9}{'statements':>12}{'kB':>7}")

    def measured(name: str, path: str, *kept: MutableMapping[Any, Any]) -> None:
        answer, cpu_ms, asked = anew.cost(path, times, *kept)
        assert answer.status_code == 200, answer.text[:500]
        print(f"    {name:28}{cpu_ms:9.1f}{asked:12}{len(answer.content) / 1000:7.0f}")

    for name, path in (asked := pages(anew.client)):
        measured(name, path)
    print("    Right after a new ranking, once for each ranking and process:")
    for name, path in asked:
        if name in READ_FROM_RANKING:
            measured(name, path, anew.services.boards._kept, anew.services.boards._parts)
    print()
    anew.client.close()
    database.close()


def _administrator(database: Database) -> dict[str, str]:
    """Return the cookie of somebody who may see all pages."""
    with database.transaction() as session:
        set_role(session, "author-0", Role.ADMIN)
        user = session.exec(select(User).where(User.name == "author-0")).one()
        return {sessions.COOKIE: begin_session(session, user.id, "browser").secret}


def pages(client: httpx.Client) -> list[tuple[str, str]]:
    match = client.get("/v1/matches?limit=1&state=done").json()["items"][0]
    bot = match["seats"][0]["bot_id"]
    last = client.get("/v1/seasons/1/leaderboard").json()["rows"][-1]["bot_id"]
    return [
        ("home", "/"),
        ("leaderboard", "/seasons/1"),
        ("leaderboard, page 15", "/seasons/1?page=15"),
        ("leaderboard, search", "/seasons/1?q=bot-77"),
        ("leaderboard, language", "/seasons/1?language=python"),
        ("participants", "/seasons/1/participants"),
        ("statistics", "/seasons/1/statistics"),
        ("bot", f"/bots/{bot}"),
        ("last bot", f"/bots/{last}"),
        ("opponents", f"/bots/{bot}/opponents"),
        ("author", f"/authors/{match['seats'][0]['author']}"),
        ("game", f"/games/{match['game']}"),
        ("match", f"/matches/{match['id']}"),
        ("evaluations", "/seasons/1/contests"),
        ("evaluation, ended", "/contests/1"),
        ("evaluation, running", "/contests/2"),
        ("audit", "/audit"),
        ("operator", "/operator"),
    ]


if __name__ == "__main__":
    sys.exit(main())
