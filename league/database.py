"""Sessions on SQLite or PostgreSQL with the same behaviour, and migrations.

Theory of operation
-------------------
Every use case is one transaction, written `with db.transaction() as session:`; it commits when the block ends and rolls
back when an exception leaves it. A use case that only reads uses `with db.reading()`. Reads commit, too: after a
rollback, psycopg forgets its prepared statements, and PostgreSQL parses and plans each again.

Several processes write the same SQLite file (API, scheduler, workers). A transaction that reads first and writes later
would begin as a reader, and SQLite refuses to make it a writer ("database is locked", at once, whatever the timeout) if
another wrote in between. So writers begin with BEGIN IMMEDIATE, and then wait for each other for at most
`BUSY_TIMEOUT_MS`. The driver's own transactions are switched off, because they begin too late and not at all before
schema changes. Readers never wait (write-ahead log). PostgreSQL's writers run at its default, READ COMMITTED;
correctness rests on compare-and-set updates and unique constraints, not on isolation. On both, readers see one instant,
whatever is committed meanwhile: SQLite's always do, PostgreSQL's by REPEATABLE READ.

A session carries what a use case must not fetch itself: the settings, a clock and a source of random bytes. Tests and
simulations replace the last two.

One machine writes the instants of leases and another compares them, so all machines of a league need one clock. Their
own may be wrong, so they use the PostgreSQL server's (`ServerClock`). SQLite's users are all on one machine.

If the other end of a connection disappears silently, TCP keeps trying for a quarter of an hour. That must not block a
worker, so the kernel gives up after `SILENCE_SECONDS`, which is an error like any other.
"""

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, Engine, Select, create_engine, event, make_url, text
from sqlalchemy.engine.cursor import FullyBufferedCursorFetchStrategy
from sqlalchemy.orm import SessionTransaction
from sqlmodel import Session, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.league.config import Settings
from deadheat.league.storage.schema import MIGRATION_LOCK, grant, migration_config

BUSY_TIMEOUT_MS = 30_000
"""How long a writer waits for the previous one; writers hold the lock for milliseconds."""

MAPPED_BYTES = 2**31 - 2**16
"""How much of a SQLite file is mapped into memory: the most that SQLite allows. `docs/decisions/league.md` says why."""

CONNECTIONS, KEPT = 45, 5
"""The API's thread pool has 40 threads, and none of them should wait for a connection. Few connections are kept when
idle; the most recently used one is taken first, because it has prepared the most statements.
"""

SILENCE_SECONDS = 10
"""A server that acknowledges nothing for this long counts as gone. It is shorter than a lease, so a silent server does
not cost the lease. A statement may take longer, because the server's kernel answers meanwhile.
"""

REACHING: Mapping[str, object] = {
    "connect_timeout": 5,
    "tcp_user_timeout": SILENCE_SECONDS * 1000,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
"""Options of libpq; a URL may override them."""

ASK_CLOCK_SECONDS = 10.0
"""How often a process asks for the server's time. In between, it uses its own monotonic clock. It asks before it opens
a session, and inside one only if it lasts, because asking there takes a second connection."""

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the wall clock's time as an aware datetime."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The inputs of a use case from outside."""

    settings: Settings
    clock: Clock
    entropy: Callable[[int], bytes]
    reading: Callable[[], AbstractContextManager[Session]]  # a session beside the current one, for long reads


def surroundings(session: Session) -> Surroundings:
    """Return the inputs with which the session's `Database` was made."""
    value = session.info["surroundings"]
    assert isinstance(value, Surroundings)
    return value


def now(session: Session) -> datetime:
    """Return the time by the session's clock."""
    return surroundings(session).clock()


def settings_of(session: Session) -> Settings:
    """Return the session's settings."""
    return surroundings(session).settings


class ServerClock:
    """The database server's clock, not this machine's. Threads may share it. Raises the database's errors."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._server_time: datetime | None = None
        self._read_at = 0.0

    def __call__(self, intervals: int = 2) -> datetime:
        """Return the present time: late by at most the time that the answer took, never early. The server's answer may
        be so many times `ASK_CLOCK_SECONDS` old.
        """
        with self._lock:
            asked_at = time.monotonic()
            if self._server_time is None or asked_at - self._read_at > intervals * ASK_CLOCK_SECONDS:
                with self._engine.begin() as connection:
                    server_time: datetime = connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
                self._server_time, self._read_at = server_time.astimezone(UTC), time.monotonic()
            return self._server_time + timedelta(seconds=time.monotonic() - self._read_at)


class Database:
    """One database, shared by the threads of a process. After a fork, make a new one."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        kept: int = KEPT,
    ) -> None:
        """Without a `clock`, use the server's, or this machine's if the server has none. `kept`: idle connections."""
        engine = _engine(settings.database, kept)
        on_server = engine.dialect.name == "postgresql"
        steady = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True} if on_server else {}
        self._readers, self._writers = engine.execution_options(**steady), engine.execution_options(immediate=True)
        self.engine = engine.execution_options()  # for callers without a session; only this copy has the listener
        event.listen(self.engine, "begin", _begin)
        clock = clock or (ServerClock(self.engine) if on_server else utc_now)
        self._surroundings = Surroundings(settings, clock, entropy, self.reading)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a session that may write. It commits at the end of the block unless an exception leaves it."""
        with self._session(self._writers, _Session) as session:
            yield session
            session.commit()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session that reads one instant of the database and never waits for a writer."""
        with self._session(self._readers, _Reader) as session:
            yield session
            session.expunge_all()  # changed objects are not written; PostgreSQL refuses statements that write
            session.commit()

    def migrate(self) -> None:
        """Bring the schema and the roles' privileges to the newest version. Return quickly if they are there."""
        with self._migrating() as config:
            command.upgrade(config, "head")
            grant(config.attributes["connection"])

    def check(self) -> None:
        """Raise whatever the database raises if it cannot be queried."""
        with self.reading() as session:
            session.exec(select(1)).one()

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def _session(self, engine: Engine, kind: type[Session]) -> Session:
        if isinstance(clock := self._surroundings.clock, ServerClock):
            clock(1)
        return kind(engine, info={"surroundings": self._surroundings}, expire_on_commit=False)

    @contextmanager
    def _migrating(self) -> Iterator[Config]:
        with self.engine.execution_options(immediate=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
            yield migration_config(connection)


def is_there(url: str) -> bool:
    """Say whether a database exists, without connecting first, because SQLite would then create the file."""
    parsed = make_url(url)
    return parsed.get_backend_name() != "sqlite" or not parsed.database or Path(parsed.database).exists()


def _engine(url: str, kept: int) -> Engine:
    parsed = make_url(url)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {"hide_parameters": True, "json_deserializer": _decoded}
    options |= {"pool_size": kept, "max_overflow": CONNECTIONS - kept, "pool_use_lifo": True}
    if parsed.get_backend_name() != "sqlite":
        reaching = {name: value for name, value in REACHING.items() if name not in parsed.query}
        return create_engine(parsed, pool_pre_ping=True, connect_args=reaching, **options)
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    waits = {"timeout": BUSY_TIMEOUT_MS / 1000, "cached_statements": 512}
    engine = create_engine(parsed, connect_args=waits, **options)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _decoded(text: str | bytes) -> Any:
    """Parse a column's JSON. A ranking of 2,000 bots takes 9 ms of CPU, and 17 with the standard library."""
    try:
        return from_json(text)
    except ValueError:  # half of a surrogate pair, or lists within hundreds of lists
        return json.loads(text)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # only we send BEGIN, see the module's text
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}").close()
    _write_ahead(connection)
    for pragma in (
        "synchronous = FULL",  # NORMAL would lose the last commits in a power failure, and we have answered 202
        "foreign_keys = ON",
        f"mmap_size = {MAPPED_BYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log, which it keeps. SQLite refuses that at once while another process writes,
    for example because it switches the same new file, so try until that is over.
    """
    give_up_at = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            return connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        immediate = connection.get_execution_options().get("immediate", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


class _Session(Session):
    """A session that sends BEGIN itself. A listener on its engine would slow each statement by up to a half."""

    def exec(self, statement: Any, *, params: Any = None, **options: Any) -> Any:
        """See `Session.exec`. Columns are read without the ORM: it takes twice as long, yet loads no objects."""
        plain = isinstance(statement, Select) and not statement.get_execution_options() and not options
        # There is no other way to tell.
        if not plain or not all(isinstance(chosen, ColumnElement) for chosen in statement._raw_columns):  # noqa: SLF001
            return super().exec(statement, params=params, **options)
        if self.autoflush:
            self.flush()
        result = self.connection().execute(statement, params)
        # The ORM reads all rows at once, too: a loop over them may change them.
        result.cursor_strategy = FullyBufferedCursorFetchStrategy(result.cursor)
        return result.scalars() if isinstance(statement, SelectOfScalar) else result


class _Reader(_Session):
    """A session that keeps the rows that it has read, because it reads one instant and so needs each row once. Other
    sessions forget a row with the last reference to it, and each part of a page would read the season again.
    """

    def get(self, *arguments: Any, **options: Any) -> Any:
        """See `Session.get`."""
        row = super().get(*arguments, **options)
        self.info.setdefault("got", {})[id(row)] = row
        return row


@event.listens_for(_Session, "after_begin")
def _begin_session(_session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    if not transaction.nested:
        _begin(connection)
