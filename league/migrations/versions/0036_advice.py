"""Advice after a person's match: what the strongest house bot would have done."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0034"


def upgrade() -> None:
    op.add_column("exhibition", sa.Column("advise_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("exhibition", sa.Column("advice_tries", sa.Integer(), server_default="0", nullable=False))
    op.add_column("exhibition", sa.Column("advice_sha256", sa.String(64), nullable=True))
    op.create_index(op.f("ix_exhibition_advise_at"), "exhibition", ["advise_at"])
