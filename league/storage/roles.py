"""What PostgreSQL's roles may do, granted after each migration.

Theory of operation
-------------------
The owner of the tables migrates and restores, and does nothing else. The service (API, scheduler, housekeeping) runs as
a member of `SERVICE`, which changes rows but no tables, and of the audit log only appends rows. Workers, next to which
strangers' programs run, are members of `WORKER`: they read no passwords, tokens or addresses, nor what the dice of
later matches follow from, and write only what jobs change. Operators create the roles
(`deploy/services/postgres/roles.sql`). Those that do not exist get nothing; a league may run as one role, and SQLite
has none.

A new table is the service's at once. Workers get a table only if it is named here, so that a secret is not theirs by
oversight.
"""

from collections.abc import Iterator
from itertools import chain

from sqlalchemy import Connection, text
from sqlmodel import SQLModel

from deadheat.league import tables  # noqa: F401  fills the metadata
from deadheat.league.storage.schema import VERSION_TABLE

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
            *("absent_entry", "bot", "channel", "division", "league_game", "pair"),
            *("rating_snapshot", "team", "team_member", "user_account", "voided_match", VERSION_TABLE),
        ),
        READ,
    ),
    **dict.fromkeys(
        (
            *("attempt", "bot_version", "contest", "contest_player", "deadline_count", "ending", "entry"),
            *("exhibition", "judging_environment", "latency_summary", "live_match", "machine", "match", "meeting"),
            *("meeting_player", "participant", "response_times", "season_rules", "series", "worker_host"),
        ),
        WRITTEN,
    ),
    "season": ("SELECT", "UPDATE (log_serial)"),
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
    statements = {SERVICE: _for_service(schema), WORKER: chain.from_iterable(map(_for_workers, WORKERS))}
    for role in statements.keys() & set(there):
        connection.execute(text(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"))
        connection.execute(text(f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {role}"))
        for statement in statements[role]:
            connection.execute(text(f"{statement} {role}"))


OURS = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'audit_log'::regclass"
"""Says whether the tables belong to this user or one of its roles."""


def _for_service(schema: str) -> Iterator[str]:
    yield f"GRANT {', '.join(WRITTEN)} ON ALL TABLES IN SCHEMA {schema} TO"
    yield f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO"
    yield "REVOKE INSERT, UPDATE, DELETE ON audit_log FROM"
    yield f"GRANT {APPENDED} ON audit_log TO"
    yield f"REVOKE INSERT, UPDATE, DELETE ON {VERSION_TABLE} FROM"


def _for_workers(table: str) -> Iterator[str]:
    granted = ", ".join(WORKERS[table])
    if hidden := HIDDEN.get(table):
        visible = (column.name for column in SQLModel.metadata.tables[table].columns if column.name not in hidden)
        granted = granted.replace("SELECT", f"SELECT ({', '.join(visible)})")
    yield f"GRANT {granted} ON {table} TO"
    if "INSERT" in WORKERS[table] and "id" in SQLModel.metadata.tables[table].columns:
        yield f"GRANT USAGE ON SEQUENCE {table}_id_seq TO"
