"""Rankings by the first method are made anew: they lack intervals of places and what stands beside the table now."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Forward. Published standings stay as they are; so far nobody has any."""
    op.execute(
        "UPDATE season SET rated_serial = -1 WHERE id IN (SELECT season_id FROM rating_snapshot WHERE NOT final)"
    )
    op.execute("DELETE FROM rating_snapshot WHERE NOT final")
