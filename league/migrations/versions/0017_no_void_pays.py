"""A match that we fail to play has other dice at each attempt, and in the end it is held for an organiser."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

CHANGED = {
    "state": (
        "state IN ('scheduled', 'done', 'abandoned')",
        "state IN ('scheduled', 'done', 'held', 'decided', 'abandoned')",
    ),
    "finished": (
        "(state = 'scheduled') = (finished_at IS NULL)",
        "(state IN ('scheduled', 'held')) = (finished_at IS NULL)",
    ),
    "rated": ("NOT rated OR state = 'done'", "NOT rated OR state IN ('done', 'decided')"),
}
"""The constraints of `match`, before and after."""


def upgrade() -> None:
    """Forward."""
    op.add_column("series", sa.Column("avoid_host", sa.String(length=128), nullable=True))
    op.drop_column("live_match", "voids")
    op.drop_column("live_match", "cause")
    op.add_column("attempt", sa.Column("seed_number", sa.Integer(), nullable=True))
    at_least_one = "CONSTRAINT ck_match_attempt CHECK (attempt >= 1)"
    op.execute(f"ALTER TABLE match ADD COLUMN attempt INTEGER DEFAULT 1 NOT NULL {at_least_one}")
    op.execute(  # until now, every attempt was played with the first seed
        "UPDATE match SET attempt = 1 + (SELECT count(*) FROM attempt WHERE attempt.match_id = match.id"
        " OR (attempt.series_id = match.series_id AND attempt.match_id IS NULL)) WHERE state = 'scheduled'"
    )
    if op.get_bind().dialect.name == "sqlite":
        _change_in_place()
    else:
        _change()
    held = sa.text("state = 'held'")
    op.create_index("ix_match_held", "match", ["season_id"], sqlite_where=held, postgresql_where=held)


def _change() -> None:
    for name, (_, after) in CHANGED.items():
        op.drop_constraint(op.f(f"ck_match_{name}"), "match", type_="check")
        op.create_check_constraint(op.f(f"ck_match_{name}"), "match", after)


def _change_in_place() -> None:
    """Edit the schema's text as in 0008, because SQLite has no statement to change a constraint. All rows satisfy the
    new ones.
    """
    connection = op.get_bind()
    text: str = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = 'match'")).scalar_one()
    for before, after in CHANGED.values():
        assert text.count(before) == 1, text
        text = text.replace(before, after)
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'match'")
    connection.execute(changed, {"sql": text})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
