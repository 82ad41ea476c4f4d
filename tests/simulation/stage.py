"""What all seeds share: a small league on a real database, as it is before the first match, and where it is harmed."""

from __future__ import annotations

import contextlib
import io
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session, col, select

from league import errors
from league.blobs import Blobs
from league.database import Database
from league.jobs import Host
from league.service.people.person import Person
from league.service.series.hosts import host_arrives, record_check
from league.states import Role
from league.tables import Bot, BotVersion, User
from tests.league.world import World, settings

if TYPE_CHECKING:
    from tests.simulation.simulator import Simulator

HOSTS = [Host(f"machine{number}", "boot") for number in range(3)]


def packed(text: str) -> bytes:
    """A built program of one file, the same bytes whenever it is built."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("main.py")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class League:
    """One that is prepared: two bots in a season, a third in none, and a guest who has no bot. Its first series are
    planned and its machines have been checked.
    """

    file: Path
    series_ids: Sequence[int]
    programs: Sequence[bytes]
    bots: Sequence[tuple[Person, int]]
    guest: Person

    @classmethod
    def prepare(cls, folder: Path, games: int) -> League:
        """Make it in that folder; the pair plays that many games, in series of two."""
        world = World(settings(folder, refit_seconds=20))
        world.season(2, games_per_pair=games, series_length=2)
        series_ids = world.tick()
        world.bot()
        guest = world.author("guest")
        with world.db.transaction() as session:
            for host in HOSTS:
                host_arrives(session, host, "image")
                record_check(session, host, {}, (), 0)
            programs = [f"built {version_id}".encode() for version_id in session.exec(select(BotVersion.id))]
            found = session.exec(select(User, Bot.id).join(Bot, col(Bot.owner_id) == User.id).order_by(col(Bot.id)))
            bots = [(Person(user.id, user.name, Role.AUTHOR), bot_id) for user, bot_id in found]
        world.close()  # the last connection takes the write-ahead log back into the file
        return cls(folder / "deadheat.sqlite3", series_ids, programs, bots, guest)


@dataclass
class Stage:
    """The leagues that are prepared, and the one that is played with."""

    folder: Path
    simulator: Simulator | None = None
    _leagues: dict[int, League] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings = settings(
            self.folder / "run",
            match_attempts=3,
            series_attempts=20,
            refit_seconds=20,
            requeue_seconds=30,
            retry_seconds=2,
            exhibition_move_seconds=20,
            exhibition_seconds=120,
        )
        self.settings.data_dir.mkdir()
        self.database = StormyDatabase(self)

    def reset(self, games: int) -> League:
        """A league as it was prepared."""
        if games not in self._leagues:
            self._leagues[games] = League.prepare(self.folder / f"prepared for {games} games", games)
        self.database.close()
        for suffix in ("-wal", "-shm"):
            (self.settings.data_dir / f"deadheat.sqlite3{suffix}").unlink(missing_ok=True)
        shutil.copy(self._leagues[games].file, self.settings.data_dir)
        return self._leagues[games]

    def clock(self) -> datetime:
        """What the present process takes the time to be."""
        return self.now.clock()

    def entropy(self, count: int) -> bytes:
        """As random as the seed."""
        return self.now.chance.randbytes(count)

    @property
    def now(self) -> Simulator:
        """The simulation that is under way."""
        assert self.simulator is not None
        return self.simulator


class StormyDatabase(Database):
    """The real one, which may fail and whose users may die."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.settings, stage.clock, stage.entropy)
        self._stage = stage

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """As `Database.transaction`; nobody else runs between its begin and its end."""
        simulator = self._stage.now
        simulator.pause()
        simulator.maybe_fail(simulator.weather.database_away)
        with super().transaction() as session:
            yield session
            simulator.maybe_die()
        simulator.maybe_fail(simulator.weather.answer_lost)
        simulator.pause()


class StormyBlobs(Blobs):
    """Memory, sometimes full."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__("memory://")
        self._simulator = simulator

    def put(self, data: bytes) -> str:
        """As `Blobs.put`."""
        self._simulator.pause()
        if self._simulator.happens(self._simulator.weather.blob_refused):
            raise errors.BlobsAway("no space left on device")
        name = super().put(data)
        self._simulator.pause()
        return name
