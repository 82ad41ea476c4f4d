"""The version of a database's schema, whether this program may use it, and what PostgreSQL's roles may do.

Schemas only go forward, one migration after the other. During an upgrade, programs of two versions use one database; a
program that finds a schema other than its own only reports it.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from itertools import chain
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

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

    def __init__(self, version: str | None, age: SchemaAge) -> None:
        own = newest_revision()
        if age is SchemaAge.NEWER:
            cure = f"a newer Deadheat made it, and this one knows at most {own}: install that version here"
        elif age is SchemaAge.UNRELEASED:
            cure = "it was made before the first release: upgrade it with Deadheat 0.2.0 first (git checkout "
            cure += f"{FIRST_RELEASE}, in a copy of this repository), then with this version"
        else:
            cure = f"this version needs {own}: run `deadheat migrate`"
        super().__init__(f"The database has {f'schema {version}' if version else 'no schema yet'}; {cure}.")
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
            version: str | None = connection.execute(FOUND).scalar()
        except DBAPIError:
            connection.rollback()
            if inspect(connection).has_table(VERSION_TABLE):
                raise
            return None
        connection.commit()  # keeps prepared statements, as in `league.database`
        return version


def age_of(version: str | None) -> SchemaAge:
    """Say how a schema compares with this version's."""
    if version is None:
        return SchemaAge.NONE
    if version not in revisions():
        return SchemaAge.UNRELEASED if version < revisions()[0] else SchemaAge.NEWER
    return SchemaAge.CURRENT if version == newest_revision() else SchemaAge.OLDER


def must_fit(engine: Engine, *allowed: SchemaAge) -> None:
    """Raise WrongSchema unless the schema is this version's, or of an age that is also `allowed`."""
    version = revision(engine)
    age = age_of(version)
    if age not in (SchemaAge.CURRENT, *allowed):
        raise WrongSchema(version, age)


def hold_schema(session: Session) -> None:
    """Prevent migrations until this transaction ends. Raise WrongSchema if one has already happened. Every transaction
    that writes must call this first, because an old version leaves out what a new schema adds.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text(f"SELECT pg_advisory_xact_lock_shared({MIGRATION_LOCK})"))
    version: str | None = session.connection().execute(FOUND).scalar()
    if version != newest_revision():
        raise WrongSchema(version, age_of(version))


def migration_config(connection: Connection) -> Config:
    """Return a configuration with which Alembic's commands work in this connection's transaction."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


# Roles of PostgreSQL, granted after each migration --------------------------------------------------------------------
#
# The owner of the tables migrates and restores, and does nothing else. The service (API, scheduler, housekeeping) runs
# as a member of `SERVICE`, which changes rows but no tables, and of the audit log only appends rows. Workers, next to
# which strangers' programs run, are members of `WORKER`: they read no passwords, tokens or addresses, nor what the dice
# of later matches follow from, and write only what jobs change. Operators create the roles
# (`deploy/services/postgres/roles.sql`). Those that do not exist get nothing; a league may run as one role, and SQLite
# has none.
#
# A new table is the service's at once. Workers get a table only if it is named here, so that a secret is not theirs by
# oversight.

SERVICE, WORKER = "deadheat_service", "deadheat_worker"

HIDDEN = {
    "user_account": {"password_hash", "ban_reason"},
    "season": {"secret", "pairing_seed"},
    "channel": {"secret", "address"},
    "notice": {"about"},
}
"""The columns that workers may not read."""

READ = ("SELECT",)
WRITTEN = ("SELECT", "INSERT", "UPDATE", "DELETE")
APPENDED = "INSERT (at, actor, action, subject, data, prev_sha256, sha256)"  # the database numbers records
WORKERS = {
    **dict.fromkeys(
        (
            *("absent_entry", "bot", "channel", "division", "league_game"),
            *("rating_snapshot", "team", "team_member", "user_account", "voided_match", VERSION_TABLE),
        ),
        READ,
    ),
    **dict.fromkeys(
        (
            *("attempt", "bot_version", "contest", "contest_player", "deadline_count", "ending", "entry"),
            *("game_table", "judging_environment", "latency_summary", "live_match", "machine", "match", "meeting"),
            *("meeting_player", "participant", "response_times", "season_rules", "series", "table_seat", "worker_host"),
        ),
        WRITTEN,
    ),
    "season": ("SELECT", "UPDATE (log_serial)"),
    "pair": ("SELECT", "UPDATE (games, lead)"),  # a table that is given up was no game
    "played_again": ("SELECT", "UPDATE (due_at, coins)"),
    "audit_log": ("SELECT", APPENDED),
    "notice": ("SELECT", "INSERT"),
    "delivery": ("INSERT",),
}
"""What workers may do with each table; nothing with others."""


def grant(connection: Connection) -> None:
    """Give both roles exactly these privileges, if they exist and the tables belong to the user of the connection."""
    if connection.dialect.name != "postgresql" or not connection.execute(text(OURS)).scalar_one():
        return
    there = connection.execute(text("SELECT rolname FROM pg_roles")).scalars().all()
    schema = connection.execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    for_service = (
        f"GRANT {', '.join(WRITTEN)} ON ALL TABLES IN SCHEMA {schema} TO",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO",
        "REVOKE INSERT, UPDATE, DELETE ON audit_log FROM",
        f"GRANT {APPENDED} ON audit_log TO",
        f"REVOKE INSERT, UPDATE, DELETE ON {VERSION_TABLE} FROM",
    )
    statements = {SERVICE: for_service, WORKER: chain.from_iterable(map(_for_workers, WORKERS))}
    for role in statements.keys() & set(there):
        connection.execute(text(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"))
        connection.execute(text(f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {role}"))
        for statement in statements[role]:
            connection.execute(text(f"{statement} {role}"))


OURS = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'audit_log'::regclass"
"""Says whether the tables belong to this user or one of its roles."""


def _for_workers(table: str) -> Iterator[str]:
    granted = ", ".join(WORKERS[table])
    if hidden := HIDDEN.get(table):
        visible = (column.name for column in SQLModel.metadata.tables[table].columns if column.name not in hidden)
        granted = granted.replace("SELECT", f"SELECT ({', '.join(visible)})")
    yield f"GRANT {granted} ON {table} TO"
    if "INSERT" in WORKERS[table] and "id" in SQLModel.metadata.tables[table].columns:
        yield f"GRANT USAGE ON SEQUENCE {table}_id_seq TO"
