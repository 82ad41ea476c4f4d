"""Every migration from the first schema to the newest, with rows in everything that there was at each step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory
from sqlmodel import SQLModel, select

from deadheat.league.database import Database
from tests.league.filled import Filled, fill, filled, reflected
from tests.league.world import drifted, settings

pytestmark = pytest.mark.databases

CHANGED_ON_PURPOSE: Mapping[tuple[str, str], str] = {
    ("season", "log_serial"): "0007 and 0012 have every season ranked anew",
    ("season", "rated_serial"): "0007 has every season ranked anew",
    ("live_match", "voids"): "0017: told by the match's attempt",
    ("live_match", "cause"): "0017: told by the ledger",
    ("match", "attempt"): "0017 counts them from the ledger",
}

REMOVED_ON_PURPOSE: Mapping[tuple[str, object], str] = {
    ("rating_snapshot", 2): "0007: made by a method that is no more, and not published",
}


def revisions(database: Database) -> list[str]:
    """The oldest first."""
    with database._migrating() as config:
        return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


def upgrade(database: Database, revision: str) -> None:
    with database._migrating() as config:
        command.upgrade(config, revision)


def test_no_migration_loses_or_changes_anything_and_the_code_of_now_reads_it(empty: Database) -> None:
    schema, before = sa.MetaData(), list[Filled]()
    for revision in revisions(empty):
        upgrade(empty, revision)
        with empty.engine.begin() as connection:
            known, schema = schema, reflected(connection)
            kept(revision, before, list(filled(connection, schema)))
            fill(connection, known, schema)
            before = list(filled(connection, schema))
        everywhere(revision, before, schema)
    assert drifted(empty) is None
    with empty.reading() as session:
        for mapper in SQLModel._sa_registry.mappers:
            found = session.exec(select(mapper.class_)).all()
            assert found, mapper.class_
            assert all(row.model_dump() for row in found)


def kept(revision: str, before: list[Filled], after: list[Filled]) -> None:
    """Every row of before is there with its values, but for what was changed or removed on purpose."""
    found = {(row.table, row.key): row.values for row in after}
    for row in before:
        if (row.table, row.key[0]) in REMOVED_ON_PURPOSE and (row.table, row.key) not in found:
            continue
        now = found[row.table, row.key]
        same = {name: now[name] for name in row.values if (row.table, name) not in CHANGED_ON_PURPOSE}
        held = {name: row.values[name] for name in same}
        assert same == held, f"{revision} changed {row.table} {row.key}"


def everywhere(revision: str, there: list[Filled], schema: sa.MetaData) -> None:
    """There is a row in every table and a value in every column, or nothing would be compared."""
    found: dict[str, set[str]] = {}
    for row in there:
        found.setdefault(row.table, set()).update(name for name, value in row.values.items() if value is not None)
    tables = {table.name: set(table.columns.keys()) for table in schema.tables.values()}
    del tables["alembic_version"]
    assert found == tables, revision


def test_a_person_who_has_played_had_the_last_seat(tmp_path: Path) -> None:
    database = Database(settings(tmp_path))
    schema = sa.MetaData()
    for revision in revisions(database):
        upgrade(database, revision)
        if revision == "0013":
            break
        with database.engine.begin() as connection:
            known, schema = schema, reflected(connection)
            fill(connection, known, schema)
    with database.engine.connect() as connection:
        found = connection.execute(sa.text("SELECT seat, seats, failures FROM exhibition")).all()
    database.close()
    assert found == [(1, 2, 0), (1, 2, 0)]
