"""Matches that share dice may lie in several series, and a match that is played again has dice of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"


def upgrade() -> None:
    """Forward."""
    waiting, repetition = sa.text("state = 'scheduled'"), sa.text("repeats_id IS NOT NULL")
    op.create_index(
        "ix_match_commitment_scheduled",
        "match",
        ["commitment"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    column = "repeats_id INTEGER CONSTRAINT fk_match_repeats_id_match REFERENCES match (id)"
    op.execute(f"ALTER TABLE match ADD COLUMN {column}")  # which Alembic does not write for SQLite
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
