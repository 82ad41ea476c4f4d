"""Matches of machines of low trust that trusted ones play again, and the verdict on a machine."""

from deadheat.league.migrations.checks import add_kind
from deadheat.league.migrations.sql import run

revision = "0070"
down_revision = "0069"

SCHEMA = """
CREATE TABLE played_again (
    match_id INTEGER NOT NULL CONSTRAINT pk_played_again PRIMARY KEY
        CONSTRAINT fk_played_again_match_id_match REFERENCES match (id),
    machine VARCHAR(128) NOT NULL CONSTRAINT fk_played_again_machine_machine_access REFERENCES machine_access (name),
    favourite INTEGER,
    due_at TIMESTAMPTZ NOT NULL,
    coins JSON,
    weighed BOOLEAN NOT NULL
);
CREATE INDEX ix_played_again_machine ON played_again (machine);
CREATE INDEX ix_played_again_due_at ON played_again (due_at) WHERE coins IS NULL;
CREATE INDEX ix_played_again_news ON played_again (machine) WHERE coins IS NOT NULL AND NOT weighed;
ALTER TABLE machine_access ADD COLUMN found VARCHAR(16)
    CONSTRAINT ck_machine_access_found CHECK (found IN ('late', 'lies'));
ALTER TABLE machine_access ADD COLUMN replayed_at TIMESTAMPTZ;
"""


def upgrade() -> None:
    run(SCHEMA)
    add_kind("played-again", after="unfit")
