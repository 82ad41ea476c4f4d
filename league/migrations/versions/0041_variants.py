"""Variants of games: numbers of a season, and of a person's match, that differ from the game's rules."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    for table in ("season", "exhibition"):
        op.add_column(table, sa.Column("variant", sa.JSON(none_as_null=True), nullable=True))
