"""A bot's matches, and a season's, are found by when they ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Forward."""
    op.add_column("participant", sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "UPDATE participant SET finished_at = "
        "(SELECT finished_at FROM match WHERE match.id = participant.match_id AND match.state = 'done')"
    )
    op.create_index(
        op.f("ix_participant_bot_id_finished_at_match_id"), "participant", ["bot_id", "finished_at", "match_id"]
    )
    op.create_index(op.f("ix_match_season_id_finished_at_id"), "match", ["season_id", "finished_at", "id"])
