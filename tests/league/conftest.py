"""Leagues on both databases. What imports those waits until a fixture needs it, for pure tests need none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from deadheat.league.config import Settings
    from tests.league.world import World

DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.twin)]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Yield the URL of a server with a migrated database `template`, or skip the test."""
    from deadheat.league.config import Settings
    from deadheat.league.database import Database
    from tests.league import postgres

    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    with postgres.server() as url:
        execute(url, "CREATE DATABASE template")
        database = Database(Settings(database_url=url.format("template")))
        database.migrate()
        database.close()
        yield url


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL of a database for one test; "" is SQLite's usual place."""
    if request.param == "sqlite":
        yield ""
        return
    url: str = request.getfixturevalue("postgres_url")
    name = f"league{next(_numbers)}"
    execute(url, f"CREATE DATABASE {name} TEMPLATE template STRATEGY FILE_COPY")  # twice as fast as the default
    yield url.format(name)
    execute(url, f"DROP DATABASE {name} WITH (FORCE)")


def unused(request: pytest.FixtureRequest, folder: Path) -> Settings:
    """Return the settings of a deployment without a schema, on a new database of the fixture's kind."""
    from tests.league.ground import settings

    folder.mkdir()
    if request.param == "sqlite":
        return settings(folder, database_url=f"sqlite:///{folder / 'league.sqlite3'}")
    url: str = request.getfixturevalue("postgres_url")
    name = f"empty{next(_numbers)}"
    execute(url, f"CREATE DATABASE {name}")
    return settings(folder, database_url=url.format(name))


@pytest.fixture(params=DATABASES)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Return the settings of a deployment without a schema."""
    return unused(request, tmp_path / "new")


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[World]:
    """Yield an empty league, on SQLite and on PostgreSQL."""
    from tests.league.ground import settings
    from tests.league.world import World

    made = World(settings(tmp_path, database_url=database_url))
    yield made
    made.close()


def execute(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
        connection.execute(statement.encode())
