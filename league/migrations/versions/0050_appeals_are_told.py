"""Organisers are told of appeals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"

BEFORE = "'appeal-decided'"
AFTER = "'appeal-opened', 'appeal-decided'"


def upgrade() -> None:
    """Forward."""
    if op.get_bind().dialect.name == "sqlite":
        _change_in_place()
        return
    found = sa.inspect(op.get_bind()).get_check_constraints("notice")
    (kinds,) = (one["sqltext"] for one in found if one["name"] == "ck_notice_notice_kind")
    op.drop_constraint(op.f("ck_notice_notice_kind"), "notice", type_="check")
    decided = "'appeal-decided'::character varying"
    assert kinds.count(decided) == 1, kinds
    op.create_check_constraint(
        op.f("ck_notice_notice_kind"),
        "notice",
        kinds.replace(decided, f"'appeal-opened'::character varying, {decided}"),
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
