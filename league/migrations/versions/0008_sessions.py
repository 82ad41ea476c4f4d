"""Sessions beside tokens, scopes of tokens, when they were last used; administrators."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

BEFORE = "role IN ('author', 'organiser')"
AFTER = "role IN ('author', 'organiser', 'admin')"


def upgrade() -> None:
    """Forward."""
    _add("kind", "VARCHAR(16) DEFAULT 'token' NOT NULL", "kind IN ('token', 'session')")
    _add("scope", "VARCHAR(16) DEFAULT 'full' NOT NULL", "scope IN ('read', 'submit', 'author', 'full')")
    op.add_column("token", sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        _widen_in_place()
    else:
        op.drop_constraint(op.f("ck_user_account_role"), "user_account", type_="check")
        op.create_check_constraint(op.f("ck_user_account_role"), "user_account", AFTER)


def _add(column: str, definition: str, check: str) -> None:
    op.execute(f"ALTER TABLE token ADD COLUMN {column} {definition} CONSTRAINT ck_token_{column} CHECK ({check})")


def _widen_in_place() -> None:
    """Change a constraint in the text of the schema. SQLite has no statement for it, and cannot recreate a table that
    others refer to within a transaction. Editing the schema's text is allowed for what no row's form depends on
    (sqlite.org/lang_altertable.html, section 7).
    """
    connection = op.get_bind()
    text: str = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = 'user_account'")).scalar_one()
    assert BEFORE in text, text
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'user_account'")
    connection.execute(changed, {"sql": text.replace(BEFORE, AFTER)})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
