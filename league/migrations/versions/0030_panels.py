"""What a version plays on arrival: a season's panel."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import change_check

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


def upgrade() -> None:
    """Forward."""
    op.add_column("season", sa.Column("panel", sa.JSON(none_as_null=True), nullable=True))
    op.execute(
        "ALTER TABLE season ADD COLUMN panel_games INTEGER DEFAULT 2 NOT NULL"
        " CONSTRAINT ck_season_panel_games CHECK (panel_games >= 1)"
    )
    op.execute(
        "ALTER TABLE season ADD COLUMN panel_minimum INTEGER"
        " CONSTRAINT ck_season_panel_minimum CHECK (panel_minimum IS NULL OR panel_minimum >= 0)"
    )
    op.execute(
        "ALTER TABLE season ADD COLUMN uploads_per_five_minutes INTEGER CONSTRAINT ck_season_uploads_per_five_minutes"
        " CHECK (uploads_per_five_minutes IS NULL OR uploads_per_five_minutes >= 1)"
    )
    op.execute("ALTER TABLE entry ADD COLUMN waits_for_panel BOOLEAN DEFAULT FALSE NOT NULL")
    _panel_run()
    op.execute(
        "ALTER TABLE challenge ADD COLUMN panel_id INTEGER CONSTRAINT fk_challenge_panel_id REFERENCES panel_run (id)"
    )
    of_a_panel = sa.text("panel_id IS NOT NULL")
    op.create_index(
        "ix_challenge_panel_id", "challenge", ["panel_id"], sqlite_where=of_a_panel, postgresql_where=of_a_panel
    )
    for table, checks in CHANGED.items():
        for name, (before, after) in checks.items():
            change_check(table, name, before, after)


def _panel_run() -> None:
    op.create_table(
        "panel_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("panel", sa.JSON(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("minimum", sa.Float(), nullable=True),
        sa.Column("points", sa.Float(), nullable=True),
        sa.Column("elo", sa.Float(), nullable=True),
        sa.Column("se", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('running', 'passed', 'failed', 'ended')", name=op.f("ck_panel_run_state")),
        sa.CheckConstraint("(state = 'running') = (ended_at IS NULL)", name=op.f("ck_panel_run_ended")),
        sa.CheckConstraint("games >= 1", name=op.f("ck_panel_run_games")),
        sa.CheckConstraint("(elo IS NULL) = (se IS NULL)", name=op.f("ck_panel_run_performance")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_panel_run_season_id")),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name=op.f("fk_panel_run_entry_id")),
        sa.ForeignKeyConstraint(["version_id"], ["bot_version.id"], name=op.f("fk_panel_run_version_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_panel_run")),
    )
    op.create_index(op.f("ix_panel_run_version_id"), "panel_run", ["version_id"])
    op.create_index(op.f("ix_panel_run_entry_id"), "panel_run", ["entry_id"])
    op.create_index(op.f("ix_panel_run_season_id_state"), "panel_run", ["season_id", "state"])
    running = sa.text("state = 'running'")
    op.create_index(
        "ix_panel_run_running",
        "panel_run",
        ["season_id", "version_id"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )
