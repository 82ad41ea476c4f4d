"""A season knows that its order is settled."""

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"


def upgrade() -> None:
    op.add_column("season", sa.Column("settled_until", sa.DateTime(timezone=True), nullable=True))
