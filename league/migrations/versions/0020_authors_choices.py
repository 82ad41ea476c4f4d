"""When an author chose the version that plays, and whether people may play against a bot."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Forward."""
    op.add_column("entry", sa.Column("chosen_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("bot", sa.Column("plays_people", sa.Boolean(), nullable=False, server_default=sa.true()))
