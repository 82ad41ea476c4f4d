"""The figures of an evaluation's final standings are stored with the places.

Evaluations that ended earlier have none; their figures are computed on reading.
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    op.add_column("evaluation_player", sa.Column("figures", sa.JSON(none_as_null=True), nullable=True))
