"""Under which rules a season was played, and which rankings are kept whole."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "season_rules",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("rules_version >= 1", name=op.f("ck_season_rules_rules_version")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_season_rules_season_id")),
        sa.PrimaryKeyConstraint("season_id", "rules_version", name=op.f("pk_season_rules")),
    )
    # Until now, every game was played under the first version of its rules.
    op.execute(
        "INSERT INTO season_rules SELECT match.season_id, 1, MIN(match.finished_at) FROM match"
        " JOIN series ON series.id = match.series_id WHERE match.state = 'done' AND series.purpose <> 'challenge'"
        " GROUP BY match.season_id"
    )
    whole = "BOOLEAN DEFAULT true NOT NULL CONSTRAINT ck_rating_snapshot_whole CHECK (whole OR NOT final)"
    op.execute(f"ALTER TABLE rating_snapshot ADD COLUMN whole {whole}")
    kept = sa.text("whole")
    op.create_index(
        "ix_rating_snapshot_whole", "rating_snapshot", ["season_id", "id"], sqlite_where=kept, postgresql_where=kept
    )
    # Bots that have not played lose their places: every running season is ranked anew.
    op.execute("UPDATE season SET log_serial = log_serial + 1 WHERE state <> 'closed'")
