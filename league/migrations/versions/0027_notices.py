"""Notices to people of events that concern them."""

from deadheat.league.migrations.sql import run

revision = "0027"
down_revision = "0026"

SCHEMA = """
CREATE TABLE notice (
    id SERIAL NOT NULL CONSTRAINT pk_notice PRIMARY KEY,
    user_id INTEGER NOT NULL CONSTRAINT fk_notice_user_id REFERENCES user_account (id),
    kind VARCHAR(16) NOT NULL
        CONSTRAINT ck_notice_notice_kind CHECK (kind IN (
            'version-ready', 'version-broken', 'gate-passed', 'gate-failed', 'panel-played', 'challenge-over',
            'fault', 'many-faults', 'rested', 'evaluation-done', 'appeal-decided', 'standings', 'deadline',
            'season-invited', 'team-invited'
        )),
    subject VARCHAR(64) NOT NULL,
    about JSON NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    read_at TIMESTAMPTZ,
    CONSTRAINT uq_notice_kind_subject_user_id UNIQUE (kind, subject, user_id)
);
CREATE INDEX ix_notice_user_id_id ON notice (user_id, id);
CREATE INDEX ix_notice_at ON notice (at);
CREATE INDEX ix_notice_unread ON notice (user_id) WHERE read_at IS NULL;
"""


def upgrade() -> None:
    run(SCHEMA)
