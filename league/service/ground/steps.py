"""Small steps that use cases share; above all the one way a row changes its state: compare-and-set, within the tables
of `league.states`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.roles import ExpressionElementRole
from sqlmodel import Session, SQLModel, col, insert, select, update

from deadheat.league import states
from deadheat.league.errors import LeagueError, NotFound
from deadheat.league.states import ENTERABLE
from deadheat.league.tables import Season, Staged

Row = TypeVar("Row", bound=SQLModel)


def move(
    session: Session,
    table: type[Staged],
    row_id: int,
    before: StrEnum,
    after: StrEnum,
    *conditions: Any,
    **values: Any,
) -> bool:
    """Set `after` and `values` if the row is still in `before` and every condition holds; return whether it was. A
    caller that gets True owns the step. The row's lock in the database decides a race.
    """
    assert states.allowed(before, after), f"{before!r} -> {after!r}"
    here = (col(table.id) == row_id, col(table.state) == before)
    return set_values(session, table, *here, *conditions, state=after, **values) == 1


def set_values(session: Session, table: type[SQLModel], *which: ColumnElement[bool], **values: Any) -> int:
    """Set values in the rows that meet the conditions, and return their number. Rows in memory keep the values that
    were read.
    """
    session.flush()
    computed = {name: values.pop(name) for name in [*values] if isinstance(values[name], ExpressionElementRole)}
    statement = update(table).where(*which)
    # Plain values are passed as parameters: building them into the statement would take longer than writing them.
    return session.connection().execute(statement.values(**computed) if computed else statement, values).rowcount


def set_each(session: Session, statement: Update, rows: Sequence[Mapping[str, Any]]) -> None:
    """Carry out an update once for each of the rows, which are its parameters, in one batch.

    The places of 1,600 players: 6 ms of CPU; 124 as statements of their own.
    """
    session.flush()
    if rows:
        session.connection().execute(statement, rows)


def flush_unless_taken(session: Session, taken: LeagueError) -> None:
    """Write what was added or changed; raise `taken` if it violates a unique constraint."""
    try:
        session.flush()
    except IntegrityError as error:
        raise taken from error


def existing(session: Session, table: type[Row], row_id: int) -> Row:
    """Return the row with that number. Raises NotFound."""
    row = session.get(table, row_id)
    if row is None:
        raise NotFound(table.__name__.lower(), row_id)
    return row


def lock_season(session: Session, season_id: int) -> Season:
    """Lock a season and return it. Until the end of the transaction nobody else changes or locks it, so planning,
    editing and entering happen one after the other. Writers of results wait for it only with their last statement
    (`touch_log`).

    Raises:
        NotFound.
    """
    locked = select(Season).where(Season.id == season_id).with_for_update(key_share=True)
    season = session.exec(locked.execution_options(populate_existing=True)).first()
    if season is None:
        raise NotFound("season", season_id)
    return season


def lock_enterable(session: Session) -> None:
    """Lock every season that accepts entries; an entry made meanwhile waits, and then sees the changes."""
    enterable = select(Season.id).where(col(Season.state).in_(ENTERABLE)).order_by(col(Season.id))
    session.exec(enterable.with_for_update(key_share=True)).all()


def insert_rows(session: Session, table: type[SQLModel], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows of one table, all with the same columns, in one batch and without reading them back.

    A series of 50 matches has 450 of them: 8 ms of CPU for the whole transaction, 22 when they were objects.
    """
    if rows:
        session.connection().execute(insert(table), rows)


def insert_new(session: Session, table: type[SQLModel], rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert those of the rows that violate no unique constraint, and return their ids. All have the same columns."""
    if not rows:
        return []
    session.flush()
    insert_or_leave = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}[session.get_bind().dialect.name]
    statement = insert_or_leave(table).on_conflict_do_nothing().returning(table.__table__.c.id)  # type: ignore[attr-defined]
    return list(session.connection().execute(statement, rows).scalars())


def touch_log(session: Session, season_id: int) -> None:
    """Note that the ranking no longer follows from what is stored: a refit is due.

    To be called last in a transaction: the season is the one row that all its workers share, and its lock is then
    held only for the commit.
    """
    set_values(session, Season, col(Season.id) == season_id, log_serial=Season.log_serial + 1)
