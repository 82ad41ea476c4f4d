"""What organisers decide: voided matches, absent entries, appeals, announcements."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Forward."""
    op.create_index(op.f("ix_audit_log_subject"), "audit_log", ["subject"], unique=False)
    _announcement()
    _absent_entry()
    _appeal()
    _voided_match()


def _announcement() -> None:
    op.create_table(
        "announcement",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=True),
        sa.Column("title", sa.String(length=120), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.String(length=32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_announcement_season_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcement")),
    )
    op.create_index(op.f("ix_announcement_season_id"), "announcement", ["season_id"], unique=False)


def _absent_entry() -> None:
    op.create_table(
        "absent_entry",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column(
            "absence",
            sa.Enum("withdrawn", "disqualified", name="absence", native_enum=False, create_constraint=True, length=16),
            nullable=False,
        ),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["bot_id"], ["bot.id"], name=op.f("fk_absent_entry_bot_id")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_absent_entry_season_id")),
        sa.PrimaryKeyConstraint("season_id", "bot_id", name=op.f("pk_absent_entry")),
    )


def _appeal() -> None:
    op.create_table(
        "appeal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "open",
                "upheld",
                "rejected",
                "withdrawn",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("open_key", sa.String(length=32), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("findings", sa.JSON(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ruled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ruled_by", sa.String(length=32), nullable=False),
        sa.Column("ruling", sa.Text(), nullable=False),
        sa.CheckConstraint("(state = 'open') = (open_key IS NOT NULL)", name=op.f("ck_appeal_open")),
        sa.CheckConstraint("(state = 'open') = (ruled_at IS NULL)", name=op.f("ck_appeal_ruled")),
        sa.ForeignKeyConstraint(["bot_id"], ["bot.id"], name=op.f("fk_appeal_bot_id")),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name=op.f("fk_appeal_match_id")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_appeal_season_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_appeal")),
        sa.UniqueConstraint("open_key", name=op.f("uq_appeal_open_key")),
    )
    op.create_index(op.f("ix_appeal_bot_id"), "appeal", ["bot_id"], unique=False)
    op.create_index(op.f("ix_appeal_match_id"), "appeal", ["match_id"], unique=False)
    op.create_index(op.f("ix_appeal_season_id_state"), "appeal", ["season_id", "state"], unique=False)


def _voided_match() -> None:
    op.create_table(
        "voided_match",
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("rejudged_id", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name=op.f("fk_voided_match_match_id")),
        sa.ForeignKeyConstraint(["rejudged_id"], ["match.id"], name=op.f("fk_voided_match_rejudged_id")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_voided_match_season_id")),
        sa.PrimaryKeyConstraint("match_id", name=op.f("pk_voided_match")),
        sa.UniqueConstraint("rejudged_id", name=op.f("uq_voided_match_rejudged_id")),
    )
    op.create_index(op.f("ix_voided_match_season_id"), "voided_match", ["season_id"], unique=False)
