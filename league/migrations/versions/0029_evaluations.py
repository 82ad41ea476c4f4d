"""Evaluations on a timetable, with standings of their own."""

from deadheat.league.migrations.checks import change_check
from deadheat.league.migrations.sql import run

revision = "0029"
down_revision = "0028"

BEFORE = "purpose IN ('ladder', 'finals', 'challenge')"
AFTER = "purpose IN ('ladder', 'finals', 'challenge', 'evaluation', 'rated-evaluation')"

TABLES = """
ALTER TABLE season ADD COLUMN evaluations JSON;
ALTER TABLE season ADD COLUMN evaluations_at TIMESTAMPTZ;
ALTER TABLE season ADD COLUMN ladder_during_evaluations BOOLEAN DEFAULT TRUE NOT NULL;
CREATE TABLE evaluation (
    id SERIAL NOT NULL CONSTRAINT pk_evaluation PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_evaluation_season_id REFERENCES season (id),
    number INTEGER NOT NULL CONSTRAINT ck_evaluation_number CHECK (number >= 1),
    name VARCHAR(64) NOT NULL,
    format VARCHAR(16) NOT NULL CONSTRAINT ck_evaluation_format CHECK (format IN ('swiss', 'round-robin')),
    rounds INTEGER NOT NULL CONSTRAINT ck_evaluation_rounds CHECK (rounds >= 0),
    matches INTEGER NOT NULL CONSTRAINT ck_evaluation_matches CHECK (matches >= 1),
    rated BOOLEAN NOT NULL,
    state VARCHAR(16) NOT NULL CONSTRAINT ck_evaluation_state CHECK (state IN ('running', 'done', 'cancelled')),
    reason TEXT NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_evaluation_ended CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT uq_evaluation_season_id_number UNIQUE (season_id, number),
    CONSTRAINT uq_evaluation_season_id_name_due_at UNIQUE (season_id, name, due_at)
);
CREATE UNIQUE INDEX ix_evaluation_running ON evaluation (season_id) WHERE state = 'running';
CREATE TABLE evaluation_player (
    evaluation_id INTEGER NOT NULL CONSTRAINT fk_evaluation_player_evaluation_id REFERENCES evaluation (id),
    version_id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    seed INTEGER NOT NULL CONSTRAINT ck_evaluation_player_seed CHECK (seed >= 1),
    place INTEGER CONSTRAINT ck_evaluation_player_place CHECK (place >= 1),
    CONSTRAINT fk_evaluation_player_version_id_bot_id
        FOREIGN KEY (version_id, bot_id) REFERENCES bot_version (id, bot_id),
    CONSTRAINT pk_evaluation_player PRIMARY KEY (evaluation_id, version_id),
    CONSTRAINT uq_evaluation_player_evaluation_id_seed UNIQUE (evaluation_id, seed),
    CONSTRAINT uq_evaluation_player_evaluation_id_bot_id UNIQUE (evaluation_id, bot_id)
);
CREATE INDEX ix_evaluation_player_bot_id ON evaluation_player (bot_id);
CREATE TABLE evaluation_pairing (
    id SERIAL NOT NULL CONSTRAINT pk_evaluation_pairing PRIMARY KEY,
    evaluation_id INTEGER NOT NULL CONSTRAINT fk_evaluation_pairing_evaluation_id REFERENCES evaluation (id),
    round INTEGER NOT NULL,
    board INTEGER NOT NULL,
    first_id INTEGER NOT NULL CONSTRAINT fk_evaluation_pairing_first_id REFERENCES bot_version (id),
    second_id INTEGER CONSTRAINT fk_evaluation_pairing_second_id REFERENCES bot_version (id),
    first_points FLOAT,
    second_points FLOAT,
    CONSTRAINT ck_evaluation_pairing_versions CHECK (first_id <> second_id),
    CONSTRAINT ck_evaluation_pairing_place CHECK (round >= 1 AND board >= 1),
    CONSTRAINT ck_evaluation_pairing_points CHECK ((first_points IS NULL) = (second_points IS NULL)),
    CONSTRAINT uq_evaluation_pairing_evaluation_id_round_board UNIQUE (evaluation_id, round, board),
    CONSTRAINT uq_evaluation_pairing_evaluation_id_round_first_id UNIQUE (evaluation_id, round, first_id),
    CONSTRAINT uq_evaluation_pairing_evaluation_id_round_second_id UNIQUE (evaluation_id, round, second_id)
);
"""

PAIRING = """
ALTER TABLE series ADD COLUMN pairing_id INTEGER
    CONSTRAINT fk_series_pairing_id REFERENCES evaluation_pairing (id)
    CONSTRAINT ck_series_evaluation
        CHECK ((purpose IN ('evaluation', 'rated-evaluation')) = (pairing_id IS NOT NULL));
CREATE INDEX ix_series_pairing_id ON series (pairing_id) WHERE pairing_id IS NOT NULL;
"""


def upgrade() -> None:
    run(TABLES)
    change_check("series", "purpose", BEFORE, AFTER)
    run(PAIRING)
