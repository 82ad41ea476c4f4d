"""Empty leagues for benchmarks, on SQLite or PostgreSQL."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from deadheat.league.database import Database
from tests.league import postgres
from tests.league.conftest import execute
from tests.league.ground import settings
from tests.league.world import World


@contextmanager
def leagues(count: int = 1, on_postgresql: bool = False) -> Iterator[list[World]]:
    """Make `count` empty leagues; those on PostgreSQL share a server of their own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(postgres.server()) if on_postgresql else ""
        worlds = []
        for number in range(count):
            chosen = settings(folder / str(number))
            if url:
                execute(url, f"CREATE DATABASE league{number}")
                chosen = settings(folder / str(number), database_url=url.format(f"league{number}"))
                with closing(Database(chosen)) as database:
                    database.migrate()
            worlds.append(World(chosen))
            stack.callback(worlds[-1].close)
        yield worlds
