"""A sample for each minute, for the operator's charts; indexes of the audit log by actor and by action."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.create_table(
        "sample",
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("minutes", sa.Float(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("machines", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("at", name=op.f("pk_sample")),
    )
    op.add_column("worker_host", sa.Column("late_seconds", sa.Float(), server_default="0", nullable=False))
    op.create_index(op.f("ix_audit_log_actor"), "audit_log", ["actor"])
    op.create_index(op.f("ix_audit_log_action"), "audit_log", ["action"])
