"""The largest upload with which a bot may enter a season."""

from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.execute(
        "ALTER TABLE season ADD COLUMN upload_kib INTEGER"
        " CONSTRAINT ck_season_upload_kib CHECK (upload_kib IS NULL OR upload_kib >= 1)"
    )
