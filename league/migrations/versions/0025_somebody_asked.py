"""Unrated matches at an author's request: challenges without a gate."""

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import edit_in_sqlite, replaced

revision = "0025"
down_revision = "0024"

OPTIONAL = {"entry_id": "INTEGER", **dict.fromkeys(("elo0", "elo1", "alpha", "beta"), "FLOAT")}
"""Columns of `challenge` that need no longer have a value."""

CHECKS = {
    "origin": "(entry_id IS NULL) <> (asker_id IS NULL)",
    "gate": "entry_id IS NULL OR (elo0 IS NOT NULL AND NOT private)",
    "test": "(elo0 IS NULL) = (elo1 IS NULL) AND (elo0 IS NULL) = (alpha IS NULL) AND (elo0 IS NULL) = (beta IS NULL)",
}


def upgrade() -> None:
    at_least_none = "CONSTRAINT ck_season_unrated_games CHECK (unrated_games >= 0)"
    op.execute(f"ALTER TABLE season ADD COLUMN unrated_games INTEGER DEFAULT 0 NOT NULL {at_least_none}")
    asker = "CONSTRAINT fk_challenge_asker_id REFERENCES user_account (id)"
    op.execute(f"ALTER TABLE challenge ADD COLUMN asker_id INTEGER {asker}")
    op.execute("ALTER TABLE challenge ADD COLUMN private BOOLEAN DEFAULT FALSE NOT NULL")
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite("challenge", _edited)
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
    condition = sa.text("asked IS NOT NULL")
    op.create_index("ix_match_asked", "match", ["season_id"], sqlite_where=condition, postgresql_where=condition)


def _edited(text: str) -> str:
    for name, kind in OPTIONAL.items():
        text = replaced(text, f"{name} {kind} NOT NULL", f"{name} {kind}")
    checks = ", ".join(f"CONSTRAINT ck_challenge_{name} CHECK ({check})" for name, check in CHECKS.items())
    return f"{text.rstrip().removesuffix(')')}, {checks})"
