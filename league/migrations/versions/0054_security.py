"""The league has its own key, sessions know where they began, and people are told what opens their account."""

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import add_kind, edit_in_sqlite, replaced

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    op.create_table(
        "signing_key",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signing_key")),
    )
    op.add_column("token", sa.Column("address", sa.String(length=64), server_default="", nullable=False))
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite("channel", lambda text: replaced(text, "user_id INTEGER NOT NULL", "user_id INTEGER"))
    else:
        op.alter_column("channel", "user_id", nullable=True)
    add_kind("security", after="team-invited")
