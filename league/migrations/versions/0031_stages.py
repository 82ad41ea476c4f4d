"""Finals in stages, and knock-outs."""

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import change_check

revision = "0031"
down_revision = "0030"

CHANGED = {
    "season": {
        "finals": ("finals IN ('none', 'round-robin', 'swiss')", "finals IN ('none', 'round-robin', 'swiss', 'stages')")
    },
    "evaluation": {
        "format": ("format IN ('swiss', 'round-robin')", "format IN ('swiss', 'round-robin', 'knockout')"),
    },
}
"""Constraints by table and name, before and after."""

COLUMNS = {
    "entry": ["finals_place INTEGER CONSTRAINT ck_entry_finals_place CHECK (finals_place >= 1)"],
    "evaluation": [
        "stage INTEGER CONSTRAINT ck_evaluation_stage CHECK (stage >= 1)",
        "keep INTEGER CONSTRAINT ck_evaluation_keep CHECK (keep >= 1)",
        "further INTEGER DEFAULT 0 NOT NULL CONSTRAINT ck_evaluation_further CHECK (further >= 0)",
        "third_place BOOLEAN DEFAULT FALSE NOT NULL",
    ],
    "evaluation_player": ["gone_after INTEGER CONSTRAINT ck_evaluation_player_gone_after CHECK (gone_after >= 0)"],
}


def upgrade() -> None:
    op.add_column("season", sa.Column("stages", sa.JSON(none_as_null=True), nullable=True))
    for table, columns in COLUMNS.items():
        for column in columns:
            op.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    of_stages = sa.text("stage IS NOT NULL")
    op.create_index(
        "ix_evaluation_stage",
        "evaluation",
        ["season_id", "stage"],
        unique=True,
        sqlite_where=of_stages,
        postgresql_where=of_stages,
    )
    for table, checks in CHANGED.items():
        for name, (before, after) in checks.items():
            change_check(table, name, before, after)
