"""Fill every table and column that a migration adds, by looking at the schema and not at the present code.

Each column gets a value that fits its type; each foreign key refers to the first row that it can. `ROWS` (for new
tables) and `LATER` (for columns added to a table that has rows) give the values that constraints require. So a
migration needs a line here only if the database refuses a made-up value.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

Values = dict[str, Any]

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

ROWS: Mapping[str, tuple[Values, ...]] = {
    "user_account": ({"role": "organiser"},),
    "bot_version": (
        {"id": 1, "number": 1, "state": "ready", "lease_until": None},
        {"id": 2, "number": 2, "state": "building", "program_sha256": None},
    ),
    "season": tuple(
        {"id": number, "state": state, "seats": 3, "ranks": "wins", "admission": "invited", "languages": ["python"]}
        | {"finals": "swiss", "finals_log": "finals", "finals_top": 4, "closes_when_done": False}
        | {"opens_at": AT, "freezes_at": AT + HOUR, "finals_at": AT + 2 * HOUR, "closes_at": AT + 9 * HOUR}
        for number, state in ((1, "open"), (2, "frozen"))
    ),
    "entry": ({"division": 2},),
    "token": ({"kind": "session", "scope": "read"},),
    "series": (
        {"id": 1, "state": "done", "lease_until": None, "purpose": "finals", "challenge_id": None},
        {"id": 2, "state": "running", "purpose": "challenge"},
    ),
    "match": (
        {"id": 1, "number": 1, "state": "done"},
        {"id": 2, "number": 2, "state": "abandoned", "rated": False, "transcript_sha256": None},
    ),
    "participant": ({"seat": 1, "rank": 1, "fault": "timeout"},),
    "pair": ({"low_id": 1, "high_id": 2},),
    "attempt": ({"version_id": None}, {"series_id": None, "match_id": None}),
    "rating_snapshot": ({"id": 1}, {"id": 2, "final": False}),
    "absent_entry": ({"absence": "withdrawn"},),
    "appeal": ({"state": "open", "ruled_at": None}, {"state": "upheld", "open_key": None}),
    "voided_match": ({"match_id": 1, "rejudged_id": 2},),
    "division": ({"number": 2, "size": 8},),
    "challenge": (
        {"id": 1, "candidate_id": 2, "incumbent_id": 1, "elo0": 0.0, "state": "running", "ended_at": None},
        {"id": 2, "candidate_id": 2, "incumbent_id": 1, "elo0": 0.0, "state": "passed"},
        {"id": 3, "candidate_id": 2, "incumbent_id": 1, "elo0": 0.0, "state": "failed"},
    ),
    "worker_host": ({"fitness": "fit", "reasons": ["made up"]},),
    "response_times": ({"command": "another"},),
    "deadline_count": ({"span": "hour"},),
    "machine_access": ({"trust": "low"},),
    "machine": ({"id": 2, "name": "another"},),
    "exhibition": (
        {
            "id": 1,
            "seats": 2,
            "seat": 1,
            "state": "running",
            "resigned": False,
            "transcript_sha256": None,
            "ranks": None,
            "points": None,
            "fault": "timeout",
        },
        {"id": 2, "state": "done", "lease_until": None, "open_user_id": None, "open_place": None}
        | {"seats": 2, "seat": 1, "ranks": [1, 2], "points": ["1", "0"], "fault": None},
    ),
    "game_table": (
        {"id": 3, "state": "open", "seats": 2, "variant": ["dice=3"], "lease_until": None, "open_place": None}
        | {"ranks": None, "points": None, "transcript_sha256": None},
    ),
    "table_seat": (
        {"table_id": 3, "seat": 0, "kind": "agent", "version_id": None, "open_user_id": 3, "fault": None}
        | {"turns": [1]},
    ),
    "season_rules": ({"rules_version": 2},),
    "newcomers": ({"rule": "code"},),
    "notice": ({"kind": "version-ready"},),
    "channel": ({"kind": "webhook"},),
    "delivery": ({"state": "sent"},),
    "panel_run": (
        {"id": 1, "version_id": 2, "state": "passed", "panel": ["ada/greedy"]},
        {"id": 2, "state": "running", "panel": ["ada/greedy"], "ended_at": None},
    ),
    "evaluation": (
        {"id": 1, "format": "swiss", "state": "done"},
        {"id": 2, "number": 2, "format": "round-robin", "state": "running", "ended_at": None},
    ),
    "evaluation_pairing": (
        {"id": 1, "evaluation_id": 1, "round": 1, "board": 1, "first_id": 1, "second_id": 2},
        {"id": 2, "evaluation_id": 1, "round": 1, "board": 2, "first_id": 2, "second_id": None},
    ),
}
"""Required values of the rows of a new table; a table that is not listed gets one row of made-up values."""

LATER: Mapping[tuple[str, str], Callable[[Values], Any]] = {
    ("season", "variant"): lambda row: ["dice=3"],
    ("exhibition", "variant"): lambda row: ["dice=3"],
    ("season", "ladder"): lambda row: False,
    ("season", "players"): lambda row: "agents",
    ("season", "move_seconds"): lambda row: 60,
    ("season", "transcripts"): lambda row: "closed",
    ("season", "sources"): lambda row: "closed",
    ("challenge", "asker_id"): lambda row: 1 if row["id"] == 2 else None,
    ("challenge", "private"): lambda row: row["id"] == 2,
    ("challenge", "panel_id"): lambda row: 1 if row["id"] == 3 else None,
    ("season", "panel"): lambda row: ["ada/greedy"],
    ("series", "pairing_id"): lambda row: 1 if row["id"] == 1 else None,
    ("series", "meeting_id"): lambda row: row["meeting_id"],
    ("season", "evaluations"): lambda row: [],
    ("season", "panel_test"): lambda row: ["0", "100"],
    ("season", "stages"): lambda row: ["knockout"],
    ("evaluation", "stage"): lambda row: row["id"],
    ("evaluation", "third_place"): lambda row: False,
    ("evaluation", "tie_breaks"): lambda row: ["rounds_won"],
    ("game_table", "absences"): lambda row: [[1.5, 2.5]],
    ("machine_access", "found"): lambda row: "late",
    ("match", "asked"): lambda row: None if row["rated"] else "private",
}
"""The value of a column that was added later, computed from the row. Those in `MOVED` keep theirs."""

MOVED = {
    "contest": {"candidate_id", "entry_id", "asker_id", "private", "former_id", "terms", "result"},
    "meeting": {"planned", "score"},
}
"""Columns that a migration fills with what other tables had, by table."""

BESIDE = {"game_table", "table_seat"}
"""Tables that a migration fills, and which get rows in addition, because it does not fill all of their columns."""

ALONG: Mapping[str, Callable[[Values], Values]] = {
    "asker_id": lambda row: {"entry_id": None} if row["id"] == 2 else {},
    "panel_id": lambda row: {"entry_id": None} if row["id"] == 3 else {},
    "pairing_id": lambda row: {"purpose": "evaluation"} if row["id"] == 1 else {},
}
"""Other columns to change along with a column that was added later, because their values would conflict."""

FIXED: Mapping[str, Callable[[Values], bool]] = {
    "audit_log": lambda row: True,
    "rating_snapshot": lambda row: bool(row.get("final")),
}
"""By table, whether the database refuses to change a row."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A stored row: its key and all its values."""

    table: str
    key: tuple[Any, ...]
    values: Values


def reflected(connection: sa.Connection, known: sa.MetaData) -> sa.MetaData:
    """Return the present schema. A table with the same columns as in `known` is copied from there."""
    schema = sa.MetaData()
    found = sa.inspect(connection).get_multi_columns()
    columns = {name: repr(found[None, name]) for _, name in found}
    for table in known.sorted_tables:
        if table.info["columns"] == columns.get(table.name):
            table.to_metadata(schema)
    schema.reflect(connection, only=[name for name in columns if name not in schema.tables])
    for table in schema.tables.values():
        table.info["columns"] = columns[table.name]
    return schema


def fill(connection: sa.Connection, before: sa.MetaData, schema: sa.MetaData) -> None:
    """Add rows in every table of the present `schema` that `before` does not know, and values in every such column."""
    for table in schema.sorted_tables:
        if table.name == "alembic_version":
            continue
        known = before.tables.get(table.name)
        is_empty = connection.execute(table.select()).first() is None  # else the migration has filled it
        if known is None and (is_empty or table.name in BESIDE):
            for number, wanted in enumerate(ROWS.get(table.name, ({},)), 1):
                connection.execute(table.insert(), _made_up(connection, table, number) | wanted)
        elif known is not None and (new := _new(table, known)):
            _set(connection, table, new)


def filled(connection: sa.Connection, schema: sa.MetaData) -> Iterator[Filled]:
    for table in schema.sorted_tables:
        if table.name != "alembic_version":
            for row in connection.execute(table.select()).mappings():
                yield Filled(table.name, tuple(row[column.name] for column in table.primary_key), dict(row))


def _set(connection: sa.Connection, table: sa.Table, new: list[sa.Column[Any]]) -> None:
    for number, row in enumerate(connection.execute(table.select()).mappings().all(), 1):
        fixed = FIXED.get(table.name)
        if fixed is not None and fixed(dict(row)):
            continue
        made = _made_up(connection, table, number)
        values = {}
        for column in new:
            wanted = LATER.get((table.name, column.name))
            values[column.name] = made[column.name] if wanted is None else wanted(dict(row))
            if (along := ALONG.get(column.name)) is not None:
                values |= along(dict(row))
        mine = [column == row[column.name] for column in table.primary_key]
        connection.execute(table.update().where(*mine), values)


def _new(table: sa.Table, known: sa.Table) -> list[sa.Column[Any]]:
    there = {*known.columns.keys(), *MOVED.get(table.name, ())}
    return [column for column in table.columns if column.name not in there]


def _made_up(connection: sa.Connection, table: sa.Table, number: int) -> Values:
    values = {column.name: _value(column, number) for column in table.columns}
    for key in table.foreign_key_constraints:
        named = connection.execute(sa.select(*(element.column for element in key.elements))).first()
        assert named is not None or key.referred_table is table, f"{table.name} comes after what it refers to"
        values |= dict.fromkeys(key.column_keys) if named is None else dict(zip(key.column_keys, named, strict=True))
    return values


def _value(column: sa.Column[Any], number: int) -> Any:
    kind = column.type
    if isinstance(kind, sa.Boolean):
        return True
    if isinstance(kind, sa.Integer):
        return number
    if isinstance(kind, sa.Float):
        return 0.5
    if isinstance(kind, sa.DateTime):
        return AT + timedelta(minutes=number)
    if isinstance(kind, sa.JSON):
        return {"made": number}
    if isinstance(kind, sa.LargeBinary):
        return bytes([number])
    assert isinstance(kind, sa.String), f"nothing is made up for {kind!r}"
    return f"{column.name} {number}"[: kind.length]
