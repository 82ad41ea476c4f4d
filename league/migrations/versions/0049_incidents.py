"""Why a machine became unfit is stored, and administrators are notified; the operator's charts show machines' load."""

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import add_kind

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    op.add_column("worker_host", sa.Column("incident_at", sa.DateTime(timezone=True)))
    op.add_column("worker_host", sa.Column("incident_ended_at", sa.DateTime(timezone=True)))
    op.add_column("worker_host", sa.Column("incident", sa.JSON(), server_default="{}", nullable=False))
    op.add_column("worker_host", sa.Column("busy_share", sa.Float(), server_default="0", nullable=False))
    add_kind("unfit", after="behind")
