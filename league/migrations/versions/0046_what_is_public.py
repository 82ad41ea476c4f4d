"""When the transcripts of a season, and the sources of the versions that played, are public."""

from alembic import op

revision = "0046"
down_revision = "0043"


def upgrade() -> None:
    for name, choices in (("transcripts", ("played", "closed")), ("sources", ("never", "closed"))):
        words = ", ".join(f"'{choice}'" for choice in choices)
        op.execute(
            f"ALTER TABLE season ADD COLUMN {name} VARCHAR(16) DEFAULT '{choices[0]}' NOT NULL"
            f" CONSTRAINT ck_season_{name} CHECK ({name} IN ({words}))"
        )
