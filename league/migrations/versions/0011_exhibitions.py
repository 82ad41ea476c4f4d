"""Matches of people against bots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

STATES = ("queued", "running", "done", "abandoned")
FAULTS = ("timeout", "exited", "overflow", "malformed", "illegal", "unexpected", "memory")


def upgrade() -> None:
    """Forward."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "exhibition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("game", sa.String(length=64), nullable=False),
        sa.Column("seats", sa.Integer(), nullable=False),
        sa.Column("seed", sa.LargeBinary(), nullable=False),
        sa.Column("commitment", sa.String(length=64), nullable=False),
        sa.Column("state", _word("state", STATES), nullable=False),
        sa.Column("open_user_id", sa.Integer(), nullable=True),
        sa.Column("open_place", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("lease_until", instant, nullable=True),
        sa.Column("queued_at", instant, nullable=False),
        sa.Column("nudge_at", instant, nullable=False),
        sa.Column("replies", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("asked_at", instant, nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("resigned", sa.Boolean(), nullable=False),
        sa.Column("voids", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=64), nullable=False),
        sa.Column("ranks", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("points", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("fault", _word("fault", FAULTS), nullable=True),
        sa.Column("transcript_sha256", sa.String(length=64), nullable=True),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("started_at", instant, nullable=True),
        sa.Column("finished_at", instant, nullable=True),
        sa.CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name=op.f("ck_exhibition_lease")),
        sa.CheckConstraint(
            "(state IN ('queued', 'running')) = (open_user_id IS NOT NULL)", name=op.f("ck_exhibition_open_user")
        ),
        sa.CheckConstraint(
            "(state IN ('queued', 'running')) = (open_place IS NOT NULL)", name=op.f("ck_exhibition_open_place")
        ),
        sa.CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name=op.f("ck_exhibition_transcript")),
        sa.CheckConstraint("seats >= 2", name=op.f("ck_exhibition_seats")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_exhibition_user_id")),
        sa.ForeignKeyConstraint(["version_id"], ["bot_version.id"], name=op.f("fk_exhibition_version_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exhibition")),
        sa.UniqueConstraint("open_user_id", name=op.f("uq_exhibition_open_user_id")),
        sa.UniqueConstraint("open_place", name=op.f("uq_exhibition_open_place")),
    )
    op.create_index(op.f("ix_exhibition_user_id_id"), "exhibition", ["user_id", "id"])
    op.create_index(op.f("ix_exhibition_state_nudge_at"), "exhibition", ["state", "nudge_at"])
    op.create_index(op.f("ix_exhibition_version_id"), "exhibition", ["version_id"])


def _word(name: str, words: tuple[str, ...]) -> sa.Enum:
    return sa.Enum(*words, name=op.f(f"ck_exhibition_{name}"), native_enum=False, create_constraint=True, length=16)
