"""Seasons take turns; a machine tells who else holds its processors, and a person's match when it waits for a slot."""

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    """Forward."""
    where = sa.text("virtual_start IS NOT NULL")
    op.add_column("series", sa.Column("virtual_start", sa.BigInteger(), nullable=True))
    columns = ["season_id", "virtual_start"]
    op.create_index("ix_series_virtual_start", "series", columns, sqlite_where=where, postgresql_where=where)
    op.drop_index("ix_series_season_id_state", "series")
    columns = ["season_id", "state", "precedence", "queued_at", "id"]
    op.create_index("ix_series_season_id_state_precedence_queued_at_id", "series", columns)
    reference = "REFERENCES season (id)"
    op.execute(f"ALTER TABLE bot_version ADD COLUMN enters_id INTEGER CONSTRAINT fk_bot_version_enters_id {reference}")
    where = sa.text("enters_id IS NOT NULL")
    op.create_index(
        "ix_bot_version_enters_id", "bot_version", ["enters_id"], sqlite_where=where, postgresql_where=where
    )
    op.add_column("exhibition", sa.Column("waits_since_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("worker_host", sa.Column("held_by", sa.String(length=400), server_default="", nullable=False))
    op.add_column("worker_host", sa.Column("held_since_at", sa.DateTime(timezone=True), nullable=True))
