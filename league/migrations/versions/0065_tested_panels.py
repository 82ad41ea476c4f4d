"""A season's panel may have a sequential test in place of a minimum of points."""

import sqlalchemy as sa
from alembic import op

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    op.add_column("season", sa.Column("panel_test", sa.JSON(none_as_null=True), nullable=True))
