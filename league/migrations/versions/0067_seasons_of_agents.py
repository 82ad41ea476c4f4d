"""A season says who plays in it; in one of agents, tables are rated."""

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import change_check
from deadheat.league.migrations.sql import run

revision = "0067"
down_revision = "0066"

SCHEMA = """
ALTER TABLE season ADD COLUMN players VARCHAR(16) DEFAULT 'programs' NOT NULL
    CONSTRAINT ck_season_players CHECK (players IN ('programs', 'agents'));
ALTER TABLE season ADD COLUMN move_seconds INTEGER DEFAULT 30 NOT NULL
    CONSTRAINT ck_season_move_seconds CHECK (move_seconds >= 5);
ALTER TABLE bot ADD COLUMN is_agent BOOLEAN DEFAULT FALSE NOT NULL;
ALTER TABLE game_table ADD COLUMN season_id INTEGER CONSTRAINT fk_game_table_season_id REFERENCES season (id);
ALTER TABLE game_table ADD COLUMN match_id INTEGER CONSTRAINT fk_game_table_match_id REFERENCES match (id);
ALTER TABLE game_table ADD COLUMN absences JSON DEFAULT '[]' NOT NULL;
ALTER TABLE table_seat ADD COLUMN entrant_id INTEGER
    CONSTRAINT fk_table_seat_entrant_id REFERENCES bot_version (id);
"""

PROGRAM = "(state = 'ready') = (program_sha256 IS NOT NULL)"


def upgrade() -> None:
    run(SCHEMA)
    where = sa.text("season_id IS NOT NULL")
    columns = ["season_id", "created_at"]
    op.create_index("ix_game_table_season_id", "game_table", columns, sqlite_where=where, postgresql_where=where)
    change_check("bot_version", "program", PROGRAM, f"language = 'agent' OR {PROGRAM}")
