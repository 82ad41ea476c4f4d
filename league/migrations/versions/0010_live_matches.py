"""How far running matches have come, for whoever watches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "live_match",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("voids", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=64), nullable=False),
        sa.Column("replies", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_live_match_series_id")),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name=op.f("fk_live_match_match_id")),
        sa.PrimaryKeyConstraint("series_id", name=op.f("pk_live_match")),
    )
    op.create_index(op.f("ix_live_match_match_id"), "live_match", ["match_id"])
