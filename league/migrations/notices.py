"""What a migration does for a new kind of notice: the table's constraint lists them all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

CONSTRAINT = "ck_notice_notice_kind"


def add_kind(kind: str, after: str) -> None:
    """Allow notices of this kind, which stands after that one in the list. All rows satisfy the new constraint."""
    if op.get_bind().dialect.name == "sqlite":
        _change_in_place(f"'{after}'", f"'{after}', '{kind}'")
        return
    found = sa.inspect(op.get_bind()).get_check_constraints("notice")
    (kinds,) = (one["sqltext"] for one in found if one["name"] == CONSTRAINT)
    before = f"'{after}'::character varying"
    assert kinds.count(before) == 1, kinds
    op.drop_constraint(op.f(CONSTRAINT), "notice", type_="check")
    wider = kinds.replace(before, f"{before}, '{kind}'::character varying")
    op.create_check_constraint(op.f(CONSTRAINT), "notice", wider)


def _change_in_place(before: str, after: str) -> None:
    """Edit the schema's text as in 0017, because SQLite has no statement to change a constraint."""
    connection = op.get_bind()
    of_it = sa.text("SELECT sql FROM sqlite_master WHERE name = 'notice'")
    text: str = connection.execute(of_it).scalar_one()
    assert text.count(before) == 1, text
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'notice'")
    connection.execute(changed, {"sql": text.replace(before, after)})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
