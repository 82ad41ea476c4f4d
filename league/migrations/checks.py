"""Changes to a table's checks. SQLite has no statement for that, so the text of its schema is edited. All existing rows
meet a wider check anyway.
"""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op


def edit_in_sqlite(table: str, edit: Callable[[str], str]) -> None:
    """Replace a table's schema text by the result of `edit`; this connection reads the schema again."""
    connection = op.get_bind()
    of_it = {"table": table}
    text: str = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = :table"), of_it).scalar_one()
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = :table")
    connection.execute(changed, {"sql": edit(text), **of_it})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = RESET"))


def replaced(text: str, before: str, after: str) -> str:
    """Replace a part that occurs exactly once in the text."""
    assert text.count(before) == 1, text
    return text.replace(before, after)


def change_check(table: str, name: str, before: str, after: str) -> None:
    """Change the check of this name to `after`."""
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite(table, lambda text: replaced(text, before, after))
        return
    op.drop_constraint(op.f(f"ck_{table}_{name}"), table, type_="check")
    op.create_check_constraint(op.f(f"ck_{table}_{name}"), table, after)


def add_kind(kind: str, after: str) -> None:
    """Allow notices of this `kind`, listed after the kind `after`."""
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite("notice", lambda text: replaced(text, f"'{after}'", f"'{after}', '{kind}'"))
        return
    constraints = sa.inspect(op.get_bind()).get_check_constraints("notice")
    (kinds,) = (constraint["sqltext"] for constraint in constraints if constraint["name"] == "ck_notice_notice_kind")
    before = f"'{after}'::character varying"
    change_check("notice", "notice_kind", kinds, replaced(kinds, before, f"{before}, '{kind}'::character varying"))
