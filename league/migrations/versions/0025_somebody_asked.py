"""Unrated matches that somebody asked for: a challenge without a gate."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

OPTIONAL = {"entry_id": "INTEGER", **dict.fromkeys(("elo0", "elo1", "alpha", "beta"), "FLOAT")}
"""Columns of `challenge` that had to have a value."""

CHECKS = {
    "origin": "(entry_id IS NULL) <> (asker_id IS NULL)",
    "gate": "entry_id IS NULL OR (elo0 IS NOT NULL AND NOT private)",
    "test": "(elo0 IS NULL) = (elo1 IS NULL) AND (elo0 IS NULL) = (alpha IS NULL) AND (elo0 IS NULL) = (beta IS NULL)",
}


def upgrade() -> None:
    """Forward."""
    at_least_none = "CONSTRAINT ck_season_unrated_games CHECK (unrated_games >= 0)"
    op.execute(f"ALTER TABLE season ADD COLUMN unrated_games INTEGER DEFAULT 0 NOT NULL {at_least_none}")
    asker = "CONSTRAINT fk_challenge_asker_id REFERENCES user_account (id)"
    op.execute(f"ALTER TABLE challenge ADD COLUMN asker_id INTEGER {asker}")
    op.execute("ALTER TABLE challenge ADD COLUMN private BOOLEAN DEFAULT FALSE NOT NULL")
    if op.get_bind().dialect.name == "sqlite":
        _change_in_place()
    else:
        for name in OPTIONAL:
            op.alter_column("challenge", name, nullable=True)
        for name, check in CHECKS.items():
            op.create_check_constraint(op.f(f"ck_challenge_{name}"), "challenge", check)
    op.create_index(op.f("ix_challenge_asker_id_created_at"), "challenge", ["asker_id", "created_at"])
    op.execute(
        "ALTER TABLE match ADD COLUMN asked VARCHAR(16)"
        " CONSTRAINT ck_match_asked CHECK (asked IN ('public', 'private'))"
        " CONSTRAINT ck_match_asked_rated CHECK (asked IS NULL OR NOT rated)"
    )
    asked = sa.text("asked IS NOT NULL")
    op.create_index("ix_match_asked", "match", ["season_id"], sqlite_where=asked, postgresql_where=asked)


def _change_in_place() -> None:
    """Edit the schema's text as in 0017, because SQLite has no statement to change a constraint. All rows satisfy the
    new ones.
    """
    connection = op.get_bind()
    text: str = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = 'challenge'")).scalar_one()
    for name, kind in OPTIONAL.items():
        before = f"{name} {kind} NOT NULL"
        assert text.count(before) == 1, text
        text = text.replace(before, f"{name} {kind}")
    checks = ", ".join(f"CONSTRAINT ck_challenge_{name} CHECK ({check})" for name, check in CHECKS.items())
    text = f"{text.rstrip().removesuffix(')')}, {checks})"
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'challenge'")
    connection.execute(changed, {"sql": text})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
