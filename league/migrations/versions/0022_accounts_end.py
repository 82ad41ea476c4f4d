"""Who may sign up, and accounts that are closed or banned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "newcomers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(length=16), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.CheckConstraint("rule IN ('open', 'code', 'closed')", name=op.f("ck_newcomers_newcomer_rule")),
        sa.CheckConstraint("id = 1", name=op.f("ck_newcomers_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_newcomers")),
    )
    op.add_column("user_account", sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("user_account", sa.Column("ban_reason", sa.String(length=1000), nullable=True))
