"""Statements that write many rows at once.

PostgreSQL is given all rows of a table as one JSON text. A statement for each row, even in a batch, cost the server and
the driver several times as much as the rows themselves. SQLite has no server, so it gains nothing from this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import JSON, Insert, TableValuedAlias, Text, Update, bindparam, cast, column, func
from sqlalchemy import select as columns
from sqlmodel import Session, SQLModel, insert, update

GIVEN = "given_rows"
"""The name of the parameter that holds the rows."""


def takes_rows(session: Session) -> bool:
    """Say whether the session's database supports such statements."""
    return session.get_bind().dialect.name == "postgresql"


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as the parameter of these statements."""
    return json.dumps(rows, default=_word, allow_nan=False)


def _word(value: object) -> str:
    """Return PostgreSQL's spelling of a value whose type JSON lacks."""
    if isinstance(value, bytes):
        return rf"\x{value.hex()}"
    assert isinstance(value, datetime) and value.tzinfo is not None, "dates are aware"
    return value.isoformat()


# Built once, because building a statement takes longer than executing it.


@cache
def inserting(table: type[SQLModel], names: tuple[str, ...]) -> Insert:
    """Return the statement that inserts all given rows with these columns."""
    return insert(table).from_select(names, columns(*_given(table, names).c))


@cache
def setting_by_key(table: type[SQLModel], names: tuple[str, ...], key: tuple[str, ...]) -> Update:
    """Return the statement that sets these columns in all rows given by their `key`."""
    given = _given(table, names).c
    values = {name: given[name] for name in names if name not in key}
    return update(table).where(*(getattr(table, name) == given[name] for name in key)).values(values)


def _given(table: type[SQLModel], names: tuple[str, ...]) -> TableValuedAlias:
    """Return the given rows as a table with the types of that table's columns."""
    known = table.__table__.c  # type: ignore[attr-defined]
    rows = func.json_to_recordset(cast(bindparam(GIVEN, type_=Text), JSON))
    return rows.table_valued(*(column(name, known[name].type) for name in names)).render_derived(with_types=True)
