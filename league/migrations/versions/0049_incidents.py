"""What made a machine unfit is kept, and administrators are told of it; the operator's charts show a machine's load."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"

BEFORE = "'behind', 'season-invited'"
AFTER = "'behind', 'unfit', 'season-invited'"


def upgrade() -> None:
    """Forward."""
    op.add_column("worker_host", sa.Column("incident_at", sa.DateTime(timezone=True)))
    op.add_column("worker_host", sa.Column("incident_ended_at", sa.DateTime(timezone=True)))
    op.add_column("worker_host", sa.Column("incident", sa.JSON(), server_default="{}", nullable=False))
    op.add_column("worker_host", sa.Column("busy_share", sa.Float(), server_default="0", nullable=False))
    if op.get_bind().dialect.name == "sqlite":
        _change_in_place()
        return
    found = sa.inspect(op.get_bind()).get_check_constraints("notice")
    (kinds,) = (one["sqltext"] for one in found if one["name"] == "ck_notice_notice_kind")
    op.drop_constraint(op.f("ck_notice_notice_kind"), "notice", type_="check")
    behind = "'behind'::character varying"
    assert kinds.count(behind) == 1, kinds
    op.create_check_constraint(
        op.f("ck_notice_notice_kind"), "notice", kinds.replace(behind, f"{behind}, 'unfit'::character varying")
    )


def _change_in_place() -> None:
    """Edit the schema's text as in 0032. All rows satisfy the new constraint."""
    connection = op.get_bind()
    of_it = sa.text("SELECT sql FROM sqlite_master WHERE name = 'notice'")
    text: str = connection.execute(of_it).scalar_one()
    assert text.count(BEFORE) == 1, text
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'notice'")
    connection.execute(changed, {"sql": text.replace(BEFORE, AFTER)})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
