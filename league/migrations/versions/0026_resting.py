"""Bots that fail too often rest."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    unset = "CONSTRAINT ck_season_rest_faults CHECK (rest_faults IS NULL OR rest_faults >= 1)"
    op.execute(f"ALTER TABLE season ADD COLUMN rest_faults INTEGER {unset}")
    at_least_one = "CONSTRAINT ck_season_rest_matches CHECK (rest_matches >= 1)"
    op.execute(f"ALTER TABLE season ADD COLUMN rest_matches INTEGER DEFAULT 20 NOT NULL {at_least_one}")
    for name in ("rests_since", "faults_since"):
        op.add_column("entry", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.execute("ALTER TABLE entry ADD COLUMN rest_reason TEXT DEFAULT '' NOT NULL")
