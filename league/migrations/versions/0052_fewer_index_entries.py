"""A match's attempt and a ladder's series no longer enter indexes that nobody searches for them."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"

NARROWED = (
    ("attempt", "series_id", "match_id IS NULL"),
    ("attempt", "version_id", "version_id IS NOT NULL"),
    ("series", "challenge_id", "challenge_id IS NOT NULL"),
)


def upgrade() -> None:
    for table, column, where in NARROWED:
        name = op.f(f"ix_{table}_{column}")
        op.drop_index(name, table)
        op.create_index(name, table, [column], sqlite_where=sa.text(where), postgresql_where=sa.text(where))
