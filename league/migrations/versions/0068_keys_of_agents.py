"""Agents' keys are a kind of their own, say the agent's model, and end with the token that made them."""

from deadheat.league.migrations.checks import change_check
from deadheat.league.migrations.sql import run

revision = "0068"
down_revision = "0067"

SCHEMA = """
ALTER TABLE token ADD COLUMN model VARCHAR(64) DEFAULT '' NOT NULL;
ALTER TABLE token ADD COLUMN maker_id INTEGER CONSTRAINT fk_token_maker_id REFERENCES token (id);
"""


def upgrade() -> None:
    run(SCHEMA)
    change_check("token", "kind", "kind IN ('token', 'session')", "kind IN ('token', 'session', 'agent')")
