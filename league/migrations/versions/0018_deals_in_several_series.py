"""Matches that share dice may lie in several series, a match that is played again has dice of its own, and a person who
resigns is free before the record is written.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


STATES = ("queued", "running", "done", "abandoned")
FAULTS = ("timeout", "exited", "overflow", "malformed", "illegal", "unexpected", "memory")
OPEN = "(state IN ('queued', 'running'))"
SEATED = "(state IN ('queued', 'running') AND NOT resigned)"


def upgrade() -> None:
    """Forward."""
    _deals()
    _resignations()


def _deals() -> None:
    waiting, repetition = sa.text("state = 'scheduled'"), sa.text("repeats_id IS NOT NULL")
    op.create_index(
        "ix_match_commitment_scheduled",
        "match",
        ["commitment"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    column = "repeats_id INTEGER CONSTRAINT fk_match_repeats_id_match REFERENCES match (id)"
    op.execute(f"ALTER TABLE match ADD COLUMN {column}")  # Alembic does not write this for SQLite
    op.create_index(
        "ix_match_repeats_id",
        "match",
        ["repeats_id"],
        sqlite_where=repetition,
        postgresql_where=repetition,
    )
    op.execute(
        "UPDATE match SET repeats_id = (SELECT match_id FROM voided_match WHERE rejudged_id = match.id) "
        "WHERE id IN (SELECT rejudged_id FROM voided_match)"
    )


def _resignations() -> None:
    with op.batch_alter_table("exhibition", table_args=_checks()) as exhibition:  # no table refers to it
        for name in ("open_user", "open_place"):
            exhibition.drop_constraint(op.f(f"ck_exhibition_{name}"), type_="check")
    op.execute("UPDATE exhibition SET open_user_id = NULL, open_place = NULL WHERE resigned")
    with op.batch_alter_table("exhibition", table_args=_checks()[:-2]) as exhibition:
        exhibition.create_check_constraint(op.f("ck_exhibition_open_user"), f"{SEATED} = (open_user_id IS NOT NULL)")
        exhibition.create_check_constraint(op.f("ck_exhibition_open_place"), f"{SEATED} = (open_place IS NOT NULL)")


def _checks() -> tuple[sa.CheckConstraint, ...]:
    """All its checks, because SQLite forgets them when it recreates a table."""

    def one_of(column: str, words: tuple[str, ...]) -> str:
        return f"{column} IN ({', '.join(map(repr, words))})"

    found = {
        "state": one_of("state", STATES),
        "fault": one_of("fault", FAULTS),
        "lease": "(state = 'running') = (lease_until IS NOT NULL)",
        "transcript": "(state = 'done') = (transcript_sha256 IS NOT NULL)",
        "seats": "seats >= 2",
        "seat": "seat >= 0 AND seat < seats",
        "open_user": f"{OPEN} = (open_user_id IS NOT NULL)",
        "open_place": f"{OPEN} = (open_place IS NOT NULL)",
    }
    return tuple(sa.CheckConstraint(text, name=op.f(f"ck_exhibition_{name}")) for name, text in found.items())
