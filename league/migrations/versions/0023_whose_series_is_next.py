"""Series of versions that are being placed are played before others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Forward. What waits already waits in turn."""
    op.add_column("series", sa.Column("precedence", sa.Integer(), nullable=False, server_default="2"))
    op.create_index(op.f("ix_series_state_precedence_queued_at"), "series", ["state", "precedence", "queued_at"])
