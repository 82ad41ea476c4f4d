"""Evaluations and stages of the finals become contests, which have a kind.

The rows keep their numbers. Where the migration is interrupted, its transaction is rolled back and all of it is done
again; for a while the database needs twice the space of the evaluations and their players.
"""

from alembic import op

from deadheat.league.migrations.checks import edit_in_sqlite
from deadheat.league.migrations.sql import run

revision = "0062"
down_revision = "0061"

TABLES = """
CREATE TABLE contest (
    id SERIAL NOT NULL CONSTRAINT pk_contest PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_contest_season_id REFERENCES season (id),
    kind VARCHAR(16) NOT NULL CONSTRAINT ck_contest_kind CHECK (kind IN ('evaluation', 'stage')),
    number INTEGER NOT NULL CONSTRAINT ck_contest_number CHECK (number >= 1),
    name VARCHAR(64) NOT NULL,
    format VARCHAR(16) NOT NULL CONSTRAINT ck_contest_format CHECK (format IN ('swiss', 'round-robin', 'knockout')),
    rounds INTEGER NOT NULL CONSTRAINT ck_contest_rounds CHECK (rounds >= 0),
    matches INTEGER NOT NULL CONSTRAINT ck_contest_matches CHECK (matches >= 1),
    rated BOOLEAN NOT NULL,
    stage INTEGER CONSTRAINT ck_contest_stage CHECK (stage >= 1),
    keep INTEGER CONSTRAINT ck_contest_keep CHECK (keep >= 1),
    further INTEGER DEFAULT 0 NOT NULL CONSTRAINT ck_contest_further CHECK (further >= 0),
    third_place BOOLEAN DEFAULT FALSE NOT NULL,
    rules INTEGER DEFAULT 1 NOT NULL,
    tie_breaks JSON,
    state VARCHAR(16) NOT NULL CONSTRAINT ck_contest_state CHECK (state IN ('running', 'done', 'cancelled')),
    reason TEXT NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_contest_ended CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT ck_contest_stage_kind CHECK ((kind = 'stage') = (stage IS NOT NULL)),
    CONSTRAINT uq_contest_season_id_number UNIQUE (season_id, number),
    CONSTRAINT uq_contest_season_id_name_due_at UNIQUE (season_id, name, due_at)
);
CREATE TABLE contest_player (
    contest_id INTEGER NOT NULL CONSTRAINT fk_contest_player_contest_id REFERENCES contest (id),
    version_id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    seed INTEGER NOT NULL CONSTRAINT ck_contest_player_seed CHECK (seed >= 1),
    place INTEGER CONSTRAINT ck_contest_player_place CHECK (place >= 1),
    figures JSON,
    gone_after INTEGER CONSTRAINT ck_contest_player_gone_after CHECK (gone_after >= 0),
    CONSTRAINT fk_contest_player_version_id_bot_id
        FOREIGN KEY (version_id, bot_id) REFERENCES bot_version (id, bot_id),
    CONSTRAINT pk_contest_player PRIMARY KEY (contest_id, version_id),
    CONSTRAINT uq_contest_player_contest_id_seed UNIQUE (contest_id, seed),
    CONSTRAINT uq_contest_player_contest_id_bot_id UNIQUE (contest_id, bot_id)
);
INSERT INTO contest (id, season_id, kind, number, name, format, rounds, matches, rated, stage, keep, further,
        third_place, rules, tie_breaks, state, reason, due_at, created_at, ended_at)
    SELECT id, season_id, CASE WHEN stage IS NULL THEN 'evaluation' ELSE 'stage' END, number, name, format, rounds,
        matches, rated, stage, keep, further, third_place, rules, tie_breaks, state, reason, due_at, created_at,
        ended_at
    FROM evaluation;
INSERT INTO contest_player (contest_id, version_id, bot_id, seed, place, figures, gone_after)
    SELECT evaluation_id, version_id, bot_id, seed, place, figures, gone_after FROM evaluation_player;
DROP TABLE evaluation_player;
ALTER TABLE meeting RENAME COLUMN evaluation_id TO contest_id;
CREATE UNIQUE INDEX ix_contest_running ON contest (season_id) WHERE state = 'running';
CREATE UNIQUE INDEX ix_contest_stage ON contest (season_id, stage) WHERE stage IS NOT NULL;
CREATE INDEX ix_contest_player_bot_id ON contest_player (bot_id);
"""

IN_POSTGRESQL = """
SELECT setval(pg_get_serial_sequence('contest', 'id'), coalesce((SELECT max(id) FROM contest), 0) + 1, FALSE);
ALTER TABLE meeting DROP CONSTRAINT fk_meeting_evaluation_id;
ALTER TABLE meeting ADD CONSTRAINT fk_meeting_contest_id FOREIGN KEY (contest_id) REFERENCES contest (id);
ALTER TABLE meeting RENAME CONSTRAINT uq_meeting_evaluation_id_round_board TO uq_meeting_contest_id_round_board;
"""


def upgrade() -> None:
    run(TABLES)
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite("meeting", _of_contests)
    else:
        run(IN_POSTGRESQL)
    op.drop_table("evaluation")


def _of_contests(text: str) -> str:
    text = text.replace("meeting_evaluation_id", "meeting_contest_id")
    return text.replace("REFERENCES evaluation ", "REFERENCES contest ")
