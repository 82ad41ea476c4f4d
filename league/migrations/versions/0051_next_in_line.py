"""The next series is found from an index alone, however many have the same instant. (SQLite's indexes end with the id
anyway.)
"""

from alembic import op

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    op.drop_index(op.f("ix_series_state_precedence_queued_at"), "series")
    columns = ["state", "precedence", "queued_at", "id"]
    op.create_index(op.f("ix_series_state_precedence_queued_at_id"), "series", columns)
