"""The games of the API, and the games of each machine."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    op.create_table(
        "league_game",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_league_game")),
    )
    op.add_column("worker_host", sa.Column("games", sa.JSON(), server_default="{}", nullable=False))
