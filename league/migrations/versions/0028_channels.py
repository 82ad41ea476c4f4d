"""Channels for notices: webhooks and e-mail, and the deliveries."""

from deadheat.league.migrations.sql import run

revision = "0028"
down_revision = "0027"

SCHEMA = """
CREATE TABLE channel (
    id SERIAL NOT NULL CONSTRAINT pk_channel PRIMARY KEY,
    user_id INTEGER NOT NULL CONSTRAINT fk_channel_user_id REFERENCES user_account (id),
    kind VARCHAR(16) NOT NULL CONSTRAINT ck_channel_channel_kind CHECK (kind IN ('webhook', 'mail')),
    address VARCHAR(500) NOT NULL,
    secret VARCHAR(64) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    failing_since TIMESTAMPTZ,
    disabled_at TIMESTAMPTZ
);
CREATE INDEX ix_channel_user_id ON channel (user_id);
CREATE TABLE delivery (
    id SERIAL NOT NULL CONSTRAINT pk_delivery PRIMARY KEY,
    notice_id INTEGER,
    channel_id INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL CONSTRAINT ck_delivery_delivery_state CHECK (state IN ('waiting', 'sent', 'failed')),
    resets_password BOOLEAN NOT NULL,
    tries INTEGER NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    detail VARCHAR(200) NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    CONSTRAINT ck_delivery_finished CHECK ((state = 'waiting') = (finished_at IS NULL)),
    CONSTRAINT fk_delivery_notice_id FOREIGN KEY (notice_id) REFERENCES notice (id) ON DELETE CASCADE,
    CONSTRAINT fk_delivery_channel_id FOREIGN KEY (channel_id) REFERENCES channel (id) ON DELETE CASCADE,
    CONSTRAINT uq_delivery_notice_id_channel_id UNIQUE (notice_id, channel_id)
);
CREATE INDEX ix_delivery_state_due_at ON delivery (state, due_at);
CREATE INDEX ix_delivery_channel_id_state ON delivery (channel_id, state);
"""


def upgrade() -> None:
    run(SCHEMA)
