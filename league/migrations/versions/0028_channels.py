"""Webhooks and e-mail: where people have their notices sent, and the deliveries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Forward."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "channel",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("kind", _word("ck_channel_channel_kind", "webhook", "mail"), nullable=False),
        sa.Column("address", sa.String(length=500), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("confirmed_at", instant, nullable=True),
        sa.Column("failing_since", instant, nullable=True),
        sa.Column("disabled_at", instant, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_channel_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel")),
    )
    op.create_index(op.f("ix_channel_user_id"), "channel", ["user_id"])
    op.create_table(
        "delivery",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("notice_id", sa.Integer(), nullable=True),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("state", _word("ck_delivery_delivery_state", "waiting", "sent", "failed"), nullable=False),
        sa.Column("resets_password", sa.Boolean(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at", instant, nullable=False),
        sa.Column("detail", sa.String(length=200), nullable=False),
        sa.Column("at", instant, nullable=False),
        sa.Column("finished_at", instant, nullable=True),
        sa.CheckConstraint("(state = 'waiting') = (finished_at IS NULL)", name=op.f("ck_delivery_finished")),
        sa.ForeignKeyConstraint(["notice_id"], ["notice.id"], name=op.f("fk_delivery_notice_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_delivery_channel_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("notice_id", "channel_id", name=op.f("uq_delivery_notice_id_channel_id")),
    )
    op.create_index(op.f("ix_delivery_state_due_at"), "delivery", ["state", "due_at"])
    op.create_index(op.f("ix_delivery_channel_id_state"), "delivery", ["channel_id", "state"])


def _word(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=op.f(name), native_enum=False, create_constraint=True, length=16)
