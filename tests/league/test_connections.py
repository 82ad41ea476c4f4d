"""How many connections to PostgreSQL a process opens and keeps."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.pool import QueuePool

from deadheat.league import database as database_module
from deadheat.league.database import Database, ServerClock, now
from deadheat.workers.context import Context
from tests.league.ground import settings


@pytest.fixture
def worker(tmp_path: Path, postgres_url: str) -> Iterator[Database]:
    """The database as a process of a worker opens it."""
    with closing(Context(settings(tmp_path, database_url=postgres_url.format("template"))).database) as opened:
        yield opened


def kept(database: Database) -> int:
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)
    return pool.checkedin()


def test_the_time_is_asked_before_a_session_and_not_on_a_second_connection_beside_it(worker: Database) -> None:
    clock = worker._surroundings.clock
    assert isinstance(clock, ServerClock)
    for _ in range(3):
        clock._read_at -= 1.5 * database_module.ASK_CLOCK_SECONDS
        with worker.transaction() as session:
            assert worker.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
            session.connection()
            first = now(session)
            assert (kept(worker), worker.engine.pool.checkedout()) == (0, 1)  # type: ignore[attr-defined]
            assert now(session) >= first
    assert kept(worker) == 1


def test_a_worker_keeps_one_connection_after_several_at_a_time(worker: Database) -> None:
    for _ in range(2):
        with worker.reading() as one, worker.transaction() as other:
            one.connection()
            other.connection()
            assert worker.engine.pool.checkedout() == 2  # type: ignore[attr-defined]
        assert kept(worker) == 1
