"""A league whose bots are real programs, played by the real worker code in plain subprocesses."""

import io
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from sqlmodel import col, select

from deadheat.engine.core import NS_PER_S
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, Transcript, decode
from deadheat.league.records.hosts import Worker
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.league.service.series.hosts import hosts
from deadheat.league.tables import Attempt, Series
from deadheat.workers.context import Context
from tests.deployment import free_port
from tests.league.ground import settings
from tests.league.people import GAME
from tests.league.world import World


class WorkingWorld(World):
    """A league with a worker."""

    def __post_init__(self) -> None:
        self.context = Context(self.settings)
        self.host = self.context.host
        super().__post_init__()
        self.context.__dict__["database"] = self.work  # with the world's clock, and a worker's role

    def transcript(self, sha256: str | None) -> Transcript:
        return decode(self.context.blobs.get(str(sha256), MAX_TRANSCRIPT_BYTES))

    def left_behind(self) -> list[Path]:
        """Return what jobs have left in the folder of running ones."""
        walls = {line.parents[1] for line in self.context.run_dir.glob("box-*/judge/line")}
        return [path for path in self.context.run_dir.iterdir() if path.name != "slots" and path not in walls]


class PlayingWorld(WorkingWorld):
    """A league in which every version is built as the house's random bot, or as what `program` names."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.built_as("random")

    def built_as(self, bot: str, game: str = GAME) -> None:
        """Let versions be built as this house bot from now on."""
        self.program = self.context.blobs.put(packed(bots_of(game) / bot))

    def build(self, version_id: int, reason: str = "", program: str = "") -> None:
        outcome = BuildOutcome(program or self.program, reason, "")
        assert self.write(finish_build, self.building(version_id), outcome)

    def queued(self, length: int = 1) -> int:
        self.season(series_length=length, games_per_pair=length)
        (series_id,) = self.tick()
        return series_id

    def series(self, series_id: int) -> Series:
        return self.row(Series, series_id)

    def causes(self, series_id: int) -> list[str]:
        """Return how attempts at a series and its matches ended, in order."""
        with self.db.reading() as session:
            of_series = select(Attempt.cause).where(Attempt.series_id == series_id)
            return list(session.exec(of_series.order_by(col(Attempt.id))))

    def machine(self) -> Worker:
        (found,) = self.read(hosts)
        return found


def packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                archive.add(path, path.name)
    return buffer.getvalue()


@pytest.fixture
def unhurried() -> Iterator[None]:
    """Let turns at dice take minutes: for a pause of the machine that no counter shows, nobody gets time back."""
    with pytest.MonkeyPatch.context() as patch:  # its own, because tests undo theirs
        patch.setattr("deadheat.games.yacht_auction.rules.TURN_LIMIT_NS", 60 * NS_PER_S)
        patch.setattr("deadheat.games.liars_dice.rules.NS_PER_MS", NS_PER_S)
        yield


@pytest.fixture
def world(tmp_path: Path, unhurried: None) -> Iterator[PlayingWorld]:
    made = PlayingWorld(settings(tmp_path, sandbox="local", match_attempts=3))
    yield made
    made.close()


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    """Start a Redis for this test; yield its address."""
    with redis_server(tmp_path) as url:
        yield url


@contextmanager
def redis_server(folder: Path, password: str = "", certificate: Path | None = None) -> Iterator[str]:
    """Run a Redis during a block; yield its address. With a certificate's file, which has its `key.pem` beside it, the
    server takes connections by TLS alone.
    """
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no Redis is installed (Debian: redis-server)")
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    if certificate is not None:
        options += ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no"]
        options += ["--tls-cert-file", str(certificate), "--tls-key-file", str(certificate.with_name("key.pem"))]
    command = [program, *options, "--requirepass", password]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            url = f"redis://{f':{password}@' if password else ''}127.0.0.1:{port}/0"
            if certificate is not None:
                url = f"rediss{url.removeprefix('redis')}?ssl_ca_certs={certificate}"
            with redis.Redis.from_url(url) as client:
                until = time.monotonic() + 30
                while not answers(client):
                    assert time.monotonic() < until
                    time.sleep(0.05)
                yield url
        finally:
            server.terminate()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
