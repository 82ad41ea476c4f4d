"""Dice follow from a secret of their season; those of seasons that were opened before are drawn one by one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Forward."""
    op.add_column("season", sa.Column("secret", sa.LargeBinary(), nullable=True))
    op.add_column("season", sa.Column("deals", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("match", sa.Column("deal", sa.Integer(), nullable=True))
