"""An author describes a bot, and retires it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Forward."""
    op.add_column("bot", sa.Column("description", sa.Text(), server_default="", nullable=False))
    op.add_column("bot", sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True))
