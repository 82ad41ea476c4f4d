"""Evaluations on a timetable, with standings of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import change_check

revision = "0029"
down_revision = "0028"

BEFORE = "purpose IN ('ladder', 'finals', 'challenge')"
AFTER = "purpose IN ('ladder', 'finals', 'challenge', 'evaluation', 'rated-evaluation')"


def upgrade() -> None:
    """Forward."""
    op.add_column("season", sa.Column("evaluations", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("season", sa.Column("evaluations_at", sa.DateTime(timezone=True), nullable=True))
    op.execute("ALTER TABLE season ADD COLUMN ladder_during_evaluations BOOLEAN DEFAULT TRUE NOT NULL")
    _evaluation()
    _player()
    _pairing()
    change_check("series", "purpose", BEFORE, AFTER)
    op.execute(
        "ALTER TABLE series ADD COLUMN pairing_id INTEGER"
        " CONSTRAINT fk_series_pairing_id REFERENCES evaluation_pairing (id)"
        " CONSTRAINT ck_series_evaluation"
        " CHECK ((purpose IN ('evaluation', 'rated-evaluation')) = (pairing_id IS NOT NULL))"
    )
    of_one = sa.text("pairing_id IS NOT NULL")
    op.create_index("ix_series_pairing_id", "series", ["pairing_id"], sqlite_where=of_one, postgresql_where=of_one)


def _evaluation() -> None:
    op.create_table(
        "evaluation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("format", sa.String(length=16), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("matches", sa.Integer(), nullable=False),
        sa.Column("rated", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("format IN ('swiss', 'round-robin')", name=op.f("ck_evaluation_format")),
        sa.CheckConstraint("state IN ('running', 'done', 'cancelled')", name=op.f("ck_evaluation_state")),
        sa.CheckConstraint("(state = 'running') = (ended_at IS NULL)", name=op.f("ck_evaluation_ended")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_evaluation_number")),
        sa.CheckConstraint("rounds >= 0", name=op.f("ck_evaluation_rounds")),
        sa.CheckConstraint("matches >= 1", name=op.f("ck_evaluation_matches")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_evaluation_season_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
        sa.UniqueConstraint("season_id", "number", name=op.f("uq_evaluation_season_id_number")),
        sa.UniqueConstraint("season_id", "name", "due_at", name=op.f("uq_evaluation_season_id_name_due_at")),
    )
    running = sa.text("state = 'running'")
    op.create_index(
        "ix_evaluation_running",
        "evaluation",
        ["season_id"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )


def _player() -> None:
    op.create_table(
        "evaluation_player",
        sa.Column("evaluation_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.CheckConstraint("seed >= 1", name=op.f("ck_evaluation_player_seed")),
        sa.CheckConstraint("place >= 1", name=op.f("ck_evaluation_player_place")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluation.id"], name=op.f("fk_evaluation_player_evaluation_id")),
        sa.ForeignKeyConstraint(
            ["version_id", "bot_id"],
            ["bot_version.id", "bot_version.bot_id"],
            name=op.f("fk_evaluation_player_version_id_bot_id"),
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "version_id", name=op.f("pk_evaluation_player")),
        sa.UniqueConstraint("evaluation_id", "seed", name=op.f("uq_evaluation_player_evaluation_id_seed")),
        sa.UniqueConstraint("evaluation_id", "bot_id", name=op.f("uq_evaluation_player_evaluation_id_bot_id")),
    )
    op.create_index(op.f("ix_evaluation_player_bot_id"), "evaluation_player", ["bot_id"])


def _pairing() -> None:
    op.create_table(
        "evaluation_pairing",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("evaluation_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("board", sa.Integer(), nullable=False),
        sa.Column("first_id", sa.Integer(), nullable=False),
        sa.Column("second_id", sa.Integer(), nullable=True),
        sa.Column("first_points", sa.Float(), nullable=True),
        sa.Column("second_points", sa.Float(), nullable=True),
        sa.CheckConstraint("first_id <> second_id", name=op.f("ck_evaluation_pairing_versions")),
        sa.CheckConstraint("round >= 1 AND board >= 1", name=op.f("ck_evaluation_pairing_place")),
        sa.CheckConstraint(
            "(first_points IS NULL) = (second_points IS NULL)", name=op.f("ck_evaluation_pairing_points")
        ),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluation.id"], name=op.f("fk_evaluation_pairing_evaluation_id")),
        sa.ForeignKeyConstraint(["first_id"], ["bot_version.id"], name=op.f("fk_evaluation_pairing_first_id")),
        sa.ForeignKeyConstraint(["second_id"], ["bot_version.id"], name=op.f("fk_evaluation_pairing_second_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation_pairing")),
        *(
            sa.UniqueConstraint(
                "evaluation_id", "round", column, name=op.f(f"uq_evaluation_pairing_evaluation_id_round_{column}")
            )
            for column in ("board", "first_id", "second_id")
        ),
    )
