"""How far the winner was behind; late answers that were nobody's fault are found without reading other attempts."""

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    """Forward."""
    op.add_column("match", sa.Column("comeback", sa.Float(), nullable=True))
    late = sa.text("cause <> 'played' OR CAST(evidence AS TEXT) LIKE '%past_deadline%'")
    op.create_index("ix_attempt_late", "attempt", ["id"], sqlite_where=late, postgresql_where=late)
