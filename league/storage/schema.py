"""The version of a database's schema, and whether this program may use it.

Schemas only go forward, one migration after the other. During an upgrade, programs of two versions use one database; a
program that finds a schema other than its own only reports it.
"""

from enum import StrEnum
from functools import cache
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

MIGRATIONS = Path(__file__).parents[1] / "migrations"
VERSION_TABLE = "alembic_version"
"""Alembic's own table, with one row."""

FOUND = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608

MIGRATION_LOCK = 7_341_552
"""A PostgreSQL advisory lock (any fixed number), so that processes that start together migrate one after the other."""

FIRST_RELEASE = "8dbfc7c521b4ae911b81c72aee580c89e8c07e54"
"""The commit of release 0.2.0, which upgrades leagues that are older than the oldest of our migrations."""


class SchemaAge(StrEnum):
    """How a database's schema compares with this version's."""

    NONE = "none"  # the database is empty
    UNRELEASED = "unreleased"  # made before the first release, which can still migrate it
    OLDER = "older"  # `deadheat migrate` updates it
    CURRENT = "current"
    NEWER = "newer"  # made by a newer version


class WrongSchema(Exception):
    """The database's schema is not this version's; the text is for the operator."""

    def __init__(self, found: str | None, age: SchemaAge) -> None:
        own = newest_revision()
        if age is SchemaAge.NEWER:
            cure = f"a newer Deadheat made it, and this one knows at most {own}: install that version here"
        elif age is SchemaAge.UNRELEASED:
            cure = "it was made before the first release: upgrade it with Deadheat 0.2.0 first (git checkout "
            cure += f"{FIRST_RELEASE}, in a copy of this repository), then with this version"
        else:
            cure = f"this version needs {own}: run `deadheat migrate`"
        super().__init__(f"The database has {f'schema {found}' if found else 'no schema yet'}; {cure}.")
        self.age = age


@cache
def revisions() -> tuple[str, ...]:
    """Return all schemas that this version knows, the oldest first."""
    return tuple(reversed([script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()]))


def newest_revision() -> str:
    """Return the schema that this version requires."""
    return revisions()[-1]


def revision(engine: Engine) -> str | None:
    """Return the schema that a database has, or None."""
    with engine.connect() as connection:
        try:
            found: str | None = connection.execute(FOUND).scalar()
        except DBAPIError:
            connection.rollback()
            if inspect(connection).has_table(VERSION_TABLE):
                raise
            return None
        connection.commit()  # keeps prepared statements, as in `league.database`
        return found


def age_of(found: str | None) -> SchemaAge:
    """Say how a schema compares with this version's."""
    if found is None:
        return SchemaAge.NONE
    if found not in revisions():
        return SchemaAge.UNRELEASED if found < revisions()[0] else SchemaAge.NEWER
    return SchemaAge.CURRENT if found == newest_revision() else SchemaAge.OLDER


def must_fit(engine: Engine, *allowed: SchemaAge) -> None:
    """Raise WrongSchema unless the schema is this version's, or of an age that is also `allowed`."""
    found = revision(engine)
    age = age_of(found)
    if age not in (SchemaAge.CURRENT, *allowed):
        raise WrongSchema(found, age)


def hold_schema(session: Session) -> None:
    """Prevent migrations until this transaction ends. Raise WrongSchema if one has already happened. Every transaction
    that writes must call this first, because an old version leaves out what a new schema adds.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text(f"SELECT pg_advisory_xact_lock_shared({MIGRATION_LOCK})"))
    found: str | None = session.connection().execute(FOUND).scalar()
    if found != newest_revision():
        raise WrongSchema(found, age_of(found))


def migration_config(connection: Connection) -> Config:
    """Return a configuration with which Alembic's commands work in this connection's transaction."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
