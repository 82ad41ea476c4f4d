"""Machines that play, and whether they may judge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Forward."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "worker_host",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("boot", sa.String(length=64), nullable=False),
        sa.Column("image", sa.String(length=256), nullable=False),
        sa.Column(
            "fitness",
            sa.Enum("unchecked", "fit", "unfit", name="fitness", native_enum=False, create_constraint=False, length=16),
            nullable=False,
        ),
        sa.Column("since_at", instant, nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("first_seen_at", instant, nullable=False),
        sa.Column("last_seen_at", instant, nullable=False),
        sa.Column("unfit_at", instant, nullable=True),
        sa.Column("checked_at", instant, nullable=True),
        sa.Column("check_due_at", instant, nullable=True),
        sa.Column("canary_at", instant, nullable=True),
        sa.Column("steal_share", sa.Float(), nullable=False),
        sa.Column("series", sa.Integer(), nullable=False),
        sa.Column("series_since_canary", sa.Integer(), nullable=False),
        sa.Column("voids", sa.Integer(), nullable=False),
        sa.Column("canaries", sa.Integer(), nullable=False),
        sa.Column("canary_voids", sa.Integer(), nullable=False),
        sa.Column("canary_failures", sa.Integer(), nullable=False),
        sa.CheckConstraint("fitness IN ('unchecked', 'fit', 'unfit')", name=op.f("ck_worker_host_fitness")),
        sa.CheckConstraint("fitness = 'unchecked' OR checked_at IS NOT NULL", name=op.f("ck_worker_host_checked")),
        sa.CheckConstraint("steal_share BETWEEN 0 AND 1", name=op.f("ck_worker_host_steal_share")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker_host")),
    )
