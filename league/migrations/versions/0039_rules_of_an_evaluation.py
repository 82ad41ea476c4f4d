"""An evaluation stores the version of the rules by which it is ranked; until now there was only one."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0037"


def upgrade() -> None:
    op.add_column("evaluation", sa.Column("rules", sa.Integer(), server_default="1", nullable=False))
