"""Machines that play over HTTP have a token each, and authors say which versions may play on lent ones."""

from deadheat.league.migrations.sql import run

revision = "0069"
down_revision = "0068"

SCHEMA = """
CREATE TABLE machine_access (
    name VARCHAR(128) NOT NULL CONSTRAINT pk_machine_access PRIMARY KEY,
    sha256 VARCHAR(64) NOT NULL,
    trust VARCHAR(16) NOT NULL CONSTRAINT ck_machine_access_trust CHECK (trust IN ('low', 'full')),
    owner_id INTEGER CONSTRAINT fk_machine_access_owner_id_user_account REFERENCES user_account (id),
    release VARCHAR(32) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    revoked_at TIMESTAMPTZ,
    CONSTRAINT uq_machine_access_sha256 UNIQUE (sha256)
);
ALTER TABLE bot_version ADD COLUMN lendable BOOLEAN DEFAULT false NOT NULL;
"""


def upgrade() -> None:
    run(SCHEMA)
