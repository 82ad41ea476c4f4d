"""What pairing remembers: its seed, who waits since when, and who sat first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Forward."""
    op.add_column("season", sa.Column("pairing_seed", sa.LargeBinary(), nullable=True))
    op.add_column("season", sa.Column("series_planned", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("entry", sa.Column("waiting_since", sa.Integer(), nullable=True))
    op.add_column("pair", sa.Column("lead", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE pair SET lead = games % 2")  # the lower number sat first in the odd games
    op.execute("UPDATE season SET series_planned = (SELECT COUNT(*) FROM series WHERE series.season_id = season.id)")
    op.create_index(op.f("ix_pair_season_id_high_id"), "pair", ["season_id", "high_id"], unique=False)
    op.create_index(op.f("ix_series_season_id_finished_at"), "series", ["season_id", "finished_at"], unique=False)
