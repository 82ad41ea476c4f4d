"""A person may have any seat, and what we failed at is counted apart from how often a match was taken."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Forward."""
    within = "CONSTRAINT ck_exhibition_seat CHECK (seat >= 0 AND seat < seats)"
    op.execute(f"ALTER TABLE exhibition ADD COLUMN seat INTEGER DEFAULT 0 NOT NULL {within}")
    op.execute("UPDATE exhibition SET seat = seats - 1")  # until now, a person had the last seat
    op.execute("ALTER TABLE exhibition ADD COLUMN failures INTEGER DEFAULT 0 NOT NULL")
    op.create_index(op.f("ix_exhibition_finished_at"), "exhibition", ["finished_at"])
