"""Variants of games: what a season's game has otherwise than its rules, and so a person's match."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0036"


def upgrade() -> None:
    """Forward."""
    for table in ("season", "exhibition"):
        op.add_column(table, sa.Column("variant", sa.JSON(none_as_null=True), nullable=True))
