"""What all seeds share: a small league on a real database, as it is before the first match, and where it is harmed."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, event
from sqlmodel import Session, col, select

from deadheat.league import errors
from deadheat.league.blobs import Blobs
from deadheat.league.database import Database
from deadheat.league.jobs import Host
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.hosts import host_arrives, record_check
from deadheat.league.states import Role
from deadheat.league.tables import Bot, BotVersion, User
from tests.league.ground import settings
from tests.league.world import World

if TYPE_CHECKING:
    from tests.simulation.simulator import Simulator

CHANGES, RESET_CHANGES = slice(24, 28), 1 << 16
"""Where an SQLite file counts its changes (https://www.sqlite.org/fileformat.html, 1.3), and more of them than a
storm makes: a number that it has not seen tells a connection that the file is another one.
"""

HOSTS = [Host(f"machine{number}", "boot") for number in range(3)]


def packed(text: str) -> bytes:
    """Return a built program of one file, the same bytes whenever it is built."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("main.py")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class League:
    """Two bots in a season whose first series are planned, a third in none, and a guest; all machines are fit."""

    content: bytes
    series_ids: Sequence[int]
    programs: Sequence[bytes]
    bots: Sequence[tuple[Person, int]]
    guest: Person

    @classmethod
    @cache
    def prepared(cls, games: int) -> League:
        """Return a league whose pair plays that many games, in series of two."""
        folder = Path(tempfile.mkdtemp())
        world = World(settings(folder))
        world.season(2, games_per_pair=games, series_length=2, unrated_games=8)
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
        world.close()  # the last connection merges the write-ahead log into the file
        file = folder / "deadheat.sqlite3"
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        content = file.read_bytes()
        shutil.rmtree(folder)
        return cls(content, series_ids, programs, bots, guest)


@dataclass
class Stage:
    """The league that storms strike."""

    folder: Path
    simulator: Simulator | None = None
    _resets: int = 0

    def __post_init__(self) -> None:
        self.settings = settings(self.folder / "run", match_attempts=3, requeue_seconds=30, exhibition_move_seconds=20)
        self.settings.data_dir.mkdir()
        self.database = StormyDatabase(self)

    def reset(self, games: int) -> League:
        """Restore the league to what it was when it was prepared."""
        league = League.prepared(games)
        self._resets += 1
        content = bytearray(league.content)
        content[CHANGES] = (self._resets * RESET_CHANGES).to_bytes(4)
        connection: Any = self.database.connection.connection.dbapi_connection
        connection.execute("PRAGMA locking_mode = NORMAL").close()
        connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()  # lets go of the file
        (self.settings.data_dir / "deadheat.sqlite3").write_bytes(content)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").close()
        return league

    def clock(self) -> datetime:
        return self.now.clock()

    def entropy(self, count: int) -> bytes:
        """Return random bytes that follow from the seed."""
        return self.now.chance.randbytes(count)

    @property
    def now(self) -> Simulator:
        """Return the simulation that is under way."""
        assert self.simulator is not None
        return self.simulator


class StormyDatabase(Database):
    """The product's database, which may fail and whose users may die."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.settings, stage.clock, stage.entropy)
        self._stage = stage
        event.listen(self.engine, "connect", _hurry)
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """Return the one for all sessions, which never overlap: one from a pool costs as much as a statement."""
        if self._connection is None:
            self._connection = self._readers.connect()
        return self._connection

    def _session(self, engine: Engine, kind: type[Session]) -> Session:
        """Stand in for `Database._session`."""
        options = engine.get_execution_options()
        connection = self.connection.execution_options(immediate=options.get("immediate", False))
        return kind(connection, info={"surroundings": self._surroundings}, expire_on_commit=False)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """Stand in for `Database.transaction`; no other process runs between its begin and its end."""
        simulator = self._stage.now
        simulator.pause()
        simulator.maybe_fail(simulator.weather.database_away)
        with super().transaction() as session:
            yield session
            simulator.maybe_die()
        simulator.maybe_fail(simulator.weather.answer_lost)
        simulator.pause()


def _hurry(connection: sqlite3.Connection, _record: object) -> None:
    """Skip SQLite's protection against power failures and concurrent readers, which do not occur here."""
    for pragma in ("journal_mode = MEMORY", "synchronous = OFF"):
        connection.execute(f"PRAGMA {pragma}").close()


class StormyBlobs(Blobs):
    """A store in memory that is full at times."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__("memory://")
        self._simulator = simulator

    def put(self, data: bytes) -> str:
        self._simulator.pause()
        if self._simulator.happens(self._simulator.weather.blob_refused):
            raise errors.BlobsAway("no space left on device")
        name = super().put(data)
        self._simulator.pause()
        return name
