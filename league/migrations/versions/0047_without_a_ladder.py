"""A season may be played without a ladder."""

from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    op.execute("ALTER TABLE season ADD COLUMN ladder BOOLEAN DEFAULT TRUE NOT NULL")
