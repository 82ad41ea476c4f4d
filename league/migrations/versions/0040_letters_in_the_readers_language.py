"""Notices are sent in their reader's language."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.add_column("channel", sa.Column("language", sa.String(8), server_default="en", nullable=False))
