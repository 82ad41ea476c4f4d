"""Descriptions of judge images."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "judging_environment",
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("image", sa.String(length=256), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=False),
        sa.Column("described_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_judging_environment")),
    )
    op.create_index(
        op.f("ix_judging_environment_image_described_at"),
        "judging_environment",
        ["image", "described_at"],
        unique=False,
    )
