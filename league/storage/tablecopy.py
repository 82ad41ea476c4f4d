"""Copies all rows of a league from one database to another of any kind, with their digests.

The tables are read from the existing schema, so it may be of any version; types are then set so that values mean the
same on both kinds. A table's digest depends only on its values: not on the order of rows (databases sort text
differently), nor on how a database stores an instant or a document.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import JSON, Connection, DateTime, Engine, MetaData, Table, create_engine, event, insert, select, text

from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.storage.schema import VERSION_TABLE
from deadheat.league.tables import UtcDateTime

ROWS_AT_A_TIME = 1000


@dataclass(frozen=True, slots=True)
class TableSum:
    """A table's digest: the number of its rows, and the sum of their hashes, which does not depend on their order."""

    rows: int
    sha256: str


def tables(engine: Engine) -> list[Table]:
    """Return all tables of a league of any revision, each after those to which it refers, with types that mean the same
    on both kinds of database. A schema of SQLite is read once and recognised by its text: reading takes a quarter of a
    second, and a back-up reads the same one again and again.
    """
    if engine.dialect.name != "sqlite":
        return _reflected(engine)
    with engine.connect() as connection:
        schema = tuple(connection.execute(text("SELECT sql FROM sqlite_master ORDER BY rowid")).scalars())
    if schema not in _known:
        _known.clear()  # only one schema at a time is in use
        _known[schema] = _reflected(engine)
    return _known[schema]


_known: dict[tuple[str | None, ...], list[Table]] = {}


def _reflected(engine: Engine) -> list[Table]:
    metadata = MetaData()

    @event.listens_for(metadata, "column_reflect")
    def _same_everywhere(_inspector: Any, _table: Any, column: Any) -> None:
        if isinstance(column["type"], DateTime):
            column["type"] = UtcDateTime()
        elif isinstance(column["type"], JSON):
            column["type"] = JSON(none_as_null=column["nullable"])

    metadata.reflect(engine)
    return [table for table in metadata.sorted_tables if table.name != VERSION_TABLE]


def table_sum(source: Connection, table: Table, copy_to: Connection | None = None) -> TableSum:
    """Compute a table's digest. With `copy_to`, also copy the rows there. Hashes are added up, so the order of rows
    does not matter: databases sort text differently.
    """
    # In the order of the keys, since a season refers to an earlier one.
    statement = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=ROWS_AT_A_TIME)
    count = total = 0
    for some in source.execute(statement).mappings().partitions():
        rows = [dict(row) for row in some]
        count += len(rows)
        for row in rows:
            line = json.dumps(row, sort_keys=True, separators=(",", ":"), default=_as_text).encode()
            total += int.from_bytes(hashlib.sha256(line).digest(), "big")
        if copy_to is not None:
            copy_to.execute(insert(table), rows)
    return TableSum(count, f"{total % 2**256:064x}")


def sums(file: Path) -> dict[str, TableSum]:
    """Compute the digest of every table of an SQLite file."""
    with reading(file) as engine, engine.connect() as connection:
        return {table.name: table_sum(connection, table) for table in tables(engine)}


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    assert isinstance(value, bytes), f"no column holds a {type(value).__name__}"
    return value.hex()


@contextmanager
def reading(file: Path) -> Iterator[Engine]:
    """Open a back-up's database so that readers cannot change a single byte."""
    engine = create_engine(f"sqlite:///file:{quote(str(file.absolute()))}?mode=ro&uri=true")
    try:
        yield engine
    finally:
        engine.dispose()


def league_in(file: Path) -> closing[Database]:
    """Open a database file for writing."""
    return closing(Database(Settings(database_url=f"sqlite:///{file.absolute()}")))


def into_one_file(file: Path) -> None:
    """Remove the write-ahead log beside a database, after merging it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
