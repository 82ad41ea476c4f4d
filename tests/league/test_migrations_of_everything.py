"""Every migration keeps every row; at each step, every table has rows."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory
from sqlmodel import SQLModel, select

from deadheat.league.config import Settings
from deadheat.league.database import Database
from tests.league.filled import Filled, fill, filled, reflected
from tests.league.ground import drifted

pytestmark = pytest.mark.databases


def test_no_migration_loses_or_changes_anything_and_the_newest_code_reads_it(empty: Settings, monkeypatch) -> None:
    database = Database(empty)
    with database._migrating() as config:
        scripts = ScriptDirectory.from_config(config)
    monkeypatch.setattr(ScriptDirectory, "from_config", lambda config: scripts)  # loading them again costs seconds
    schema, before = sa.MetaData(), list[Filled]()
    for revision in [script.revision for script in scripts.walk_revisions()][::-1]:
        with database._migrating() as config:
            command.upgrade(config, revision)
        with database.engine.begin() as connection:
            known, schema = schema, reflected(connection, schema)
            kept(revision, before, list(filled(connection, schema)))
            fill(connection, known, schema)
            before = list(filled(connection, schema))
        everywhere(revision, before, schema)
    assert drifted(database) is None
    with database.reading() as session:
        for mapper in SQLModel._sa_registry.mappers:
            found = session.exec(select(mapper.class_)).all()
            assert found, mapper.class_
            assert all(row.model_dump() for row in found)
    database.close()


def kept(revision: str, before: list[Filled], after: list[Filled]) -> None:
    """Check that every earlier row still has its values."""
    found = {(row.table, row.key): row.values for row in after}
    if revision in MOVED:
        before = [moved for row in before for moved in MOVED[revision](row)]
    for row in before:
        now = found[row.table, row.key]
        assert {name: now[name] for name in row.values} == row.values, f"{revision} changed {row.table} {row.key}"


def to_meetings(row: Filled) -> list[Filled]:
    """Return where a row is after 0060."""
    values = {**row.values}
    if row.table == "series":
        values["meeting_id"] = values.pop("pairing_id")
        return [Filled("series", row.key, values)]
    if row.table != "evaluation_pairing":
        return [row]
    place = {name: values[name] for name in ("id", "evaluation_id", "round", "board")}
    seats = [(values[f"{one}_id"], values[f"{one}_points"]) for one in ("first", "second")]
    players = [
        Filled("meeting_player", (row.key[0], seat), {"version_id": version, "points": points})
        for seat, (version, points) in enumerate(seats)
        if version is not None
    ]
    return [Filled("meeting", row.key, {**place, "settled": values["first_points"] is not None}), *players]


def to_contests(row: Filled) -> list[Filled]:
    """Return where a row is after 0062."""
    values, table = {**row.values}, row.table.replace("evaluation", "contest")
    if table == "contest":
        values["kind"] = "evaluation" if values["stage"] is None else "stage"
    if "evaluation_id" in values:
        values["contest_id"] = values.pop("evaluation_id")
    return [Filled(table, row.key, values)]


def to_one_contest(row: Filled) -> list[Filled]:
    """Return where a row is after 0063, unless tests/league/test_in_flight.py looks at what becomes of it."""
    if row.table != "series":
        return [] if row.table in ("challenge", "panel_run") else [row]
    values = {**row.values}
    if (challenge_id := values.pop("challenge_id")) is not None:
        values["meeting_id"] = challenge_id + 2  # the meetings that were there
    return [Filled("series", row.key, values)]


MOVED = {"0060": to_meetings, "0062": to_contests, "0063": to_one_contest}
"""Where the rows of a migration that moves them are after it."""


def everywhere(revision: str, there: list[Filled], schema: sa.MetaData) -> None:
    """Check that every table has a row and every column a value, so that everything is compared."""
    found: dict[str, set[str]] = {}
    for row in there:
        found.setdefault(row.table, set()).update(name for name, value in row.values.items() if value is not None)
    tables = {table.name: set(table.columns.keys()) for table in schema.tables.values()}
    del tables["alembic_version"]
    assert found == tables, revision
