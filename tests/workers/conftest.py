"""A league whose bots are real programs, played by the real worker code in plain subprocesses."""

from __future__ import annotations

import io
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from deadheat.engine.games.folder import bots_of
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.workers.context import Context
from tests.league.world import GAME, World, settings


class PlayingWorld(World):
    """Bots are ready with the house's random bot as their program."""

    def __post_init__(self) -> None:
        self.context = Context(self.settings)
        self.host = self.context.host
        self.program = self.context.blobs.put(packed(bots_of(GAME) / "random"))
        super().__post_init__()
        self.context.__dict__["database"] = self.connect()  # with the world's clock

    def build(self, version_id: int, reason: str = "", program: str = "") -> None:
        """Let every version become the one program."""
        outcome = BuildOutcome(program or self.program, reason, "")
        assert self.write(finish_build, self.building(version_id), outcome)


def packed(folder: Path) -> bytes:
    """A folder as a built program."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                archive.add(path, path.name)
    return buffer.getvalue()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PlayingWorld]:
    made = PlayingWorld(settings(tmp_path, sandbox="local", match_attempts=3))
    yield made
    made.close()


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    """The address of this test's own Redis."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no Redis is installed (Debian: redis-server)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as server:
        url = f"redis://127.0.0.1:{port}/0"
        with redis.Redis.from_url(url) as client:
            until = time.monotonic() + 30
            while not answers(client):
                assert time.monotonic() < until
                time.sleep(0.05)
            yield url
        server.terminate()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
