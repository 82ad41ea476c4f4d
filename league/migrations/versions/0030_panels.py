"""Panels: the opponents that a season has each new version play."""

from deadheat.league.migrations.checks import change_check
from deadheat.league.migrations.sql import run

revision = "0030"
down_revision = "0029"

ONE_ORIGIN = (
    "CASE WHEN entry_id IS NULL THEN 0 ELSE 1 END + CASE WHEN asker_id IS NULL THEN 0 ELSE 1 END"
    " + CASE WHEN panel_id IS NULL THEN 0 ELSE 1 END = 1"
)

CHANGED = {
    "challenge": {"origin": ("(entry_id IS NULL) <> (asker_id IS NULL)", ONE_ORIGIN)},
    "series": {
        "purpose": (
            "purpose IN ('ladder', 'finals', 'challenge', 'evaluation', 'rated-evaluation')",
            "purpose IN ('ladder', 'finals', 'panel', 'challenge', 'evaluation', 'rated-evaluation')",
        ),
        "challenge": (
            "(purpose = 'challenge') = (challenge_id IS NOT NULL)",
            "(purpose IN ('panel', 'challenge')) = (challenge_id IS NOT NULL)",
        ),
    },
}
"""Constraints by table and name, before and after."""


SCHEMA = """
ALTER TABLE season ADD COLUMN panel JSON;
ALTER TABLE season ADD COLUMN panel_games INTEGER DEFAULT 2 NOT NULL
    CONSTRAINT ck_season_panel_games CHECK (panel_games >= 1);
ALTER TABLE season ADD COLUMN panel_minimum INTEGER
    CONSTRAINT ck_season_panel_minimum CHECK (panel_minimum IS NULL OR panel_minimum >= 0);
ALTER TABLE season ADD COLUMN uploads_per_five_minutes INTEGER
    CONSTRAINT ck_season_uploads_per_five_minutes
        CHECK (uploads_per_five_minutes IS NULL OR uploads_per_five_minutes >= 1);
ALTER TABLE entry ADD COLUMN waits_for_panel BOOLEAN DEFAULT FALSE NOT NULL;
CREATE TABLE panel_run (
    id SERIAL NOT NULL CONSTRAINT pk_panel_run PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_panel_run_season_id REFERENCES season (id),
    entry_id INTEGER NOT NULL CONSTRAINT fk_panel_run_entry_id REFERENCES entry (id),
    version_id INTEGER NOT NULL CONSTRAINT fk_panel_run_version_id REFERENCES bot_version (id),
    chosen BOOLEAN NOT NULL,
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_panel_run_state CHECK (state IN ('running', 'passed', 'failed', 'ended')),
    panel JSON NOT NULL,
    games INTEGER NOT NULL CONSTRAINT ck_panel_run_games CHECK (games >= 1),
    minimum FLOAT,
    points FLOAT,
    elo FLOAT,
    se FLOAT,
    reason TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_panel_run_ended CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT ck_panel_run_performance CHECK ((elo IS NULL) = (se IS NULL))
);
CREATE INDEX ix_panel_run_version_id ON panel_run (version_id);
CREATE INDEX ix_panel_run_entry_id ON panel_run (entry_id);
CREATE INDEX ix_panel_run_season_id_state ON panel_run (season_id, state);
CREATE UNIQUE INDEX ix_panel_run_running ON panel_run (season_id, version_id) WHERE state = 'running';
ALTER TABLE challenge ADD COLUMN panel_id INTEGER CONSTRAINT fk_challenge_panel_id REFERENCES panel_run (id);
CREATE INDEX ix_challenge_panel_id ON challenge (panel_id) WHERE panel_id IS NOT NULL;
"""


def upgrade() -> None:
    run(SCHEMA)
    for table, checks in CHANGED.items():
        for name, (before, after) in checks.items():
            change_check(table, name, before, after)
