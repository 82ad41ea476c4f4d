"""An evaluation stores the tie-breaks that its organiser chose; if none, those of its rules apply."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.add_column("evaluation", sa.Column("tie_breaks", sa.JSON(none_as_null=True), nullable=True))
