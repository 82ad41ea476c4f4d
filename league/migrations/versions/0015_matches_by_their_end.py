"""Matches are found by when they ended."""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Forward."""
    op.create_index(op.f("ix_match_finished_at_id"), "match", ["finished_at", "id"])
