"""The figures of an evaluation's final standings are kept with the places.

Those of evaluations that ended before have none, and are computed when they are read.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Forward."""
    op.add_column("evaluation_player", sa.Column("figures", sa.JSON(none_as_null=True), nullable=True))
