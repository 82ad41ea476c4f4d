"""A match keeps the name of each version as its transcript has it, because a bot may be renamed."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("participant", sa.Column("player", sa.String(length=80), nullable=True))
