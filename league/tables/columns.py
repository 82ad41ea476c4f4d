"""Columns that tables share: instants in UTC, words of an enumeration, JSON, and the columns of every job."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, DateTime, Dialect, Enum, Index, text
from sqlalchemy.orm import declared_attr, deferred
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

MOST_WORD = 64
"""The most characters stored of one word: a cause of failure, or a command."""

SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

SHA256_HEX = 64


class UtcDateTime(TypeDecorator[datetime]):
    """An aware instant. SQLite stores no zone, so instants are stored there in UTC and made aware again on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert an instant to UTC. A naive one is a bug."""
        if value is None:
            return None
        assert value.tzinfo is not None, "dates are aware"
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return an aware instant in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def word(
    kind: type[StrEnum], name: str, *, nullable: bool = False, primary_key: bool = False, checked: bool = True
) -> Column[Any]:
    """Return a column that holds one of an enumeration's values. `checked`: the database checks it."""
    words = Enum(
        kind,
        name=name,
        native_enum=False,
        create_constraint=checked,
        length=16,
        values_callable=lambda members: [member.value for member in members],
    )
    return Column(words, nullable=nullable, primary_key=primary_key)


def json_column(*, nullable: bool = False, server_default: str | None = None) -> Column[Any]:
    return Column(JSON(none_as_null=nullable), nullable=nullable, server_default=server_default)


def index_where(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """Return an index of the rows that meet a condition, on both kinds of database."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


class Staged(SQLModel):
    """A table whose rows change state according to `league.states`, each time by one compare-and-set."""

    id: int = Field(default=None, primary_key=True)
    state: StrEnum


class JobRow(Staged):
    """A table whose rows are jobs of workers; `league.service.ground.life` describes their life."""

    attempt: int = 0
    worker: str | None = Field(default=None, max_length=128)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    queued_at: datetime = Field(sa_type=UtcDateTime)  # when it began to wait
    nudge_at: datetime = Field(sa_type=UtcDateTime)  # when the sweeper enqueues it (again)


def apart(*columns: str) -> Any:
    """Return `__mapper_args__` by which rows are read without these columns. Each is read when it is asked for. So a
    program can use the rows although it may not read these columns (`league.storage.schema`).
    """

    @declared_attr.directive
    def arguments(cls: Any) -> dict[str, Any]:
        return {"properties": {column: deferred(cls.__table__.columns[column], group="apart") for column in columns}}

    return arguments
