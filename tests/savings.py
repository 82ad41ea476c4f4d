"""Do some things more cheaply than the product, without losing anything: they took nearly half of the time of the
league's tests.

Nothing waits for the disk, neither SQLite after each commit nor a back-up, which waits for all that the machine writes:
no power fails here, and that took up to a third of such a test. Passwords are hashed as cheaply as argon2 can
(`real_passwords` is for tests of the hashing itself). Statements are compiled to SQL once per process and not once per
database, of which nearly every test has its own. Garbage collection is off during imports, and skips what they made.
Processes that tests start are the product, with none of this.
"""

import gc
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Dialect, Engine, create_engine, event
from sqlalchemy.util import LRUCache

from deadheat.league import database
from deadheat.league.service.people import users

CACHED_STATEMENTS = 5000

_prepare = database._prepare_sqlite
_hasher = users._hasher  # every use case shares it, so it cannot be passed as an argument
gc.disable()  # until `cheap`

_known: dict[str, tuple[Dialect, LRUCache[Any, Any]]] = {}
"""Each dialect's first instance that has connected to its server, and the cache of compiled statements."""


def pytest_collection_finish() -> None:
    """Let no search for garbage look at what imports and collection have made, for it stays."""
    gc.freeze()


@pytest.fixture
def real_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords as in the product."""
    monkeypatch.setattr(users, "_hasher", _hasher)


@pytest.fixture(scope="session", autouse=True)
def cheap() -> Iterator[None]:
    """Apply all savings to every test of the process."""
    gc.set_threshold(10_000, 10, 10)  # half of what the short-lived objects of an ORM cost otherwise
    gc.enable()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(users, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        patch.setattr(database, "create_engine", _engine)
        patch.setattr(database, "_prepare_sqlite", _prepare_sqlite)
        patch.setattr(os, "sync", lambda: None)
        yield


def _engine(*arguments: Any, **options: Any) -> Engine:
    """Create an engine that shares its dialect, a part of the cache's keys, and its compiled statements with others."""
    engine = create_engine(*arguments, **options)
    name = engine.dialect.name
    if name in _known:
        engine.dialect, compiled = _known[name]
        engine.update_execution_options(compiled_cache=compiled)
    else:
        event.listen(engine, "first_connect", lambda *_: _share(engine))
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    _prepare(connection, record)
    connection.execute("PRAGMA synchronous = OFF").close()


def _share(engine: Engine) -> None:
    _known.setdefault(engine.dialect.name, (engine.dialect, LRUCache(CACHED_STATEMENTS)))
