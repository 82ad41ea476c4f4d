"""What people are told of events that concern them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

KINDS = (
    "version-ready",
    "version-broken",
    "gate-passed",
    "gate-failed",
    "panel-played",
    "challenge-over",
    "fault",
    "many-faults",
    "rested",
    "evaluation-done",
    "appeal-decided",
    "standings",
    "deadline",
    "season-invited",
    "team-invited",
)


def upgrade() -> None:
    """Forward."""
    instant = sa.DateTime(timezone=True)
    kind = sa.Enum(*KINDS, name=op.f("ck_notice_notice_kind"), native_enum=False, create_constraint=True, length=16)
    op.create_table(
        "notice",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("kind", kind, nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("at", instant, nullable=False),
        sa.Column("read_at", instant, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_notice_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice")),
        sa.UniqueConstraint("kind", "subject", "user_id", name=op.f("uq_notice_kind_subject_user_id")),
    )
    op.create_index(op.f("ix_notice_user_id_id"), "notice", ["user_id", "id"])
    op.create_index(op.f("ix_notice_at"), "notice", ["at"])
    unread = sa.text("read_at IS NULL")
    op.create_index("ix_notice_unread", "notice", ["user_id"], sqlite_where=unread, postgresql_where=unread)
