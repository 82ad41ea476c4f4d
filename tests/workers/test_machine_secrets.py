"""A machine that plays over HTTP holds no secret of its league: its environment, files and memory are searched."""

import os
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from deadheat.cli.author.submit import read_bot
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.follow import wait_for_build
from deadheat.engine.games.folder import bots_of
from deadheat.league.states import Trust
from tests.deployment import ROOT, Deployment, serving
from tests.league.people import GAME

COMMAND = (sys.executable, "-m", "deadheat.cli.main")
PASSWORD = f"password {secrets.token_hex(8)}"


def league_secrets(folder: Path, deployment: Deployment, key: str) -> dict[str, bytes]:
    """Return what only the league knows, by name."""
    with closing(sqlite3.connect(folder / "deadheat.sqlite3")) as database:
        (season,) = database.execute("SELECT secret FROM season").fetchone()
        hashes = [row[0] for row in database.execute("SELECT password_hash FROM user_account") if row[0]]
        tokens = [row[0] for row in database.execute("SELECT sha256 FROM token")]
        seeds = (
            "SELECT match.seed FROM match JOIN series ON series.id = series_id WHERE series.state = 'queued' LIMIT 9"
        )
        waiting = [row[0] for row in database.execute(seeds)]
    assert waiting and hashes and tokens
    found = {f"a seed {number}": seed for number, seed in enumerate(waiting)}
    found |= {f"a password {number}": text.encode() for number, text in enumerate([PASSWORD, *hashes])}
    found |= {f"a token {number}": text.encode() for number, text in enumerate([deployment.organiser, *tokens])}
    places = {"the database": folder / "deadheat.sqlite3", "the store": folder / "blobs", "the queue": folder / "queue"}
    found |= {name: str(place).encode() for name, place in places.items()}
    secret = season if isinstance(season, bytes) else str(season).encode()
    return found | {"the season's secret": secret, "the key of back-ups": key.encode()}


def processes_of(session: int) -> Iterator[int]:
    """Yield a process and all its descendants."""
    yield session
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            parent = re.search(r"^PPid:\t(\d+)", status.read_text(), re.MULTILINE)
            if parent and int(parent[1]) == session:
                yield from processes_of(int(status.parent.name))


def memory_of(pid: int) -> Iterator[bytes]:
    """Yield what a process can read and write in its memory, and its environment."""
    yield Path(f"/proc/{pid}/environ").read_bytes()
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                with suppress(OSError, ValueError, OverflowError):
                    memory.seek(start)
                    yield memory.read(end - start)


def season(deployment: Deployment) -> None:
    """Open a season of two bots that is played for longer than the search takes."""
    with Client(deployment.url, deployment.organiser) as boss:
        number = boss.create_season({"name": "One", "game": GAME, "series_length": 4, "games_per_pair": 2000}).id
        for name in ("ada", "bob"):
            with Client(deployment.url) as stranger:
                stranger.sign_up(name, PASSWORD)
                author = Client(deployment.url, stranger.issue_token(name, PASSWORD).token)
            with author:
                bot = author.own_bot(GAME, "mine")
                version = author.upload(bot.id, *read_bot(bots_of(GAME) / "random"))
                assert wait_for_build(author, version).state == "ready"
                author.enter(number, bot.id)
        boss.change_season(number, {"state": "open"})


@pytest.mark.all
def test_a_machine_over_http_holds_no_secret_of_the_league(tmp_path: Path) -> None:
    league, far = tmp_path / "league", tmp_path / "far"
    league.mkdir()
    far.mkdir()
    key = secrets.token_hex(16)
    with serving(league, BACKUP_KEY=key, EXHIBITIONS="0", SLOTS="0") as deployment:
        words = [*COMMAND, "machine", "add", "far", "--trust", Trust.FULL, "--json"]
        added = subprocess.check_output(words, cwd=ROOT, env=deployment.environment, text=True)
        token = re.search(r"dhm_[\w-]+", added)
        assert token is not None
        (far / "token").write_text(token[0])
        season(deployment)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEADHEAT_")}
        environment |= {"DEADHEAT_DATA_DIR": str(far / "data"), "DEADHEAT_SANDBOX": "local", "HOME": str(far)}
        words = ["worker", "--server", deployment.url, "--token-file", str(far / "token"), "--concurrency", "1"]
        with (far / "log").open("wb") as log:
            worker = subprocess.Popen([*COMMAND, *words], cwd=ROOT, env=environment, stdout=log, stderr=log)
        pids: list[int] = []
        try:
            until = time.monotonic() + 120
            while b"series" not in (far / "log").read_bytes():
                assert worker.poll() is None and time.monotonic() < until, (far / "log").read_text()
                time.sleep(0.2)
            for pid in processes_of(worker.pid):
                with suppress(ProcessLookupError):  # bots come and go
                    os.kill(pid, signal.SIGSTOP)  # or it would claim what is searched for
                    pids.append(pid)
            assert len(pids) >= 3, "the worker, its keeper and a player"
            known = league_secrets(league, deployment, key)
            held = {
                name for pid in pids for piece in memory_of(pid) for name, secret in known.items() if secret in piece
            }
            files = [path for path in far.rglob("*") if path.is_file()]
            held |= {name for path in files for name, secret in known.items() if secret in path.read_bytes()}
            searched = any(token[0].encode() in piece for pid in pids for piece in memory_of(pid))
            assert searched, "what is held is found"
            assert held == set()
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)
    assert worker.returncode == 0, (far / "log").read_text()
