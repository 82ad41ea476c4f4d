"""Organisers are notified of a timetable that falls behind; people sign in through an OpenID provider."""

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import add_kind

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_identity_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identity")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identity_issuer_subject")),
        sa.UniqueConstraint("user_id", "issuer", name=op.f("uq_identity_user_id_issuer")),
    )
    add_kind("behind", after="deadline")
