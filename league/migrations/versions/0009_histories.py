"""Rating histories, and response times that are added up as matches end."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "response_times",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(length=64), nullable=False),
        sa.Column("limit_ns", sa.BigInteger(), nullable=False),
        sa.Column("prompts", sa.BigInteger(), nullable=False),
        sa.Column("total_ns", sa.BigInteger(), nullable=False),
        sa.Column("worst_ns", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_response_times_season_id")),
        sa.ForeignKeyConstraint(["version_id"], ["bot_version.id"], name=op.f("fk_response_times_version_id")),
        sa.PrimaryKeyConstraint("season_id", "version_id", "command", name=op.f("pk_response_times")),
    )
    op.create_table(
        "rating_point",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("second", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("elo", sa.Float(), nullable=False),
        sa.Column("low", sa.Float(), nullable=False),
        sa.Column("high", sa.Float(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_rating_point_season_id")),
        sa.ForeignKeyConstraint(["bot_id"], ["bot.id"], name=op.f("fk_rating_point_bot_id")),
        sa.ForeignKeyConstraint(["version_id"], ["bot_version.id"], name=op.f("fk_rating_point_version_id")),
        sa.PrimaryKeyConstraint("season_id", "second", "bot_id", name=op.f("pk_rating_point")),
    )
    op.create_index(op.f("ix_rating_point_bot_id_season_id"), "rating_point", ["bot_id", "season_id"], unique=False)
    failed = sa.text("fault IS NOT NULL")
    op.create_index(
        "ix_participant_faults",
        "participant",
        ["bot_id", "match_id"],
        unique=False,
        sqlite_where=failed,
        postgresql_where=failed,
    )
    _add_up()


def _add_up() -> None:
    """Add up what was stored before: counts and durations, without shares of the limit, which were not counted."""
    op.execute(
        "INSERT INTO response_times"
        " SELECT match.season_id, participant.version_id, latency_summary.command, MAX(latency_summary.limit_ns),"
        " SUM(latency_summary.prompts), SUM(latency_summary.total_ns), MAX(latency_summary.worst_ns), '{}'"
        " FROM latency_summary"
        " JOIN participant ON participant.match_id = latency_summary.match_id"
        " AND participant.seat = latency_summary.seat"
        " JOIN match ON match.id = latency_summary.match_id"
        " GROUP BY match.season_id, participant.version_id, latency_summary.command"
    )
