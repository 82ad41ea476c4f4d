"""A contest of duels names the version for which it is played, and the rules alone say which formats there are.

Where the migration is interrupted, its transaction is rolled back and all of it is done again.
"""

from alembic import op

from deadheat.league.migrations.checks import edit_in_sqlite, replaced
from deadheat.league.migrations.sql import run

revision = "0064"
down_revision = "0063"

CHECK = "(kind IN ('evaluation', 'stage')) = (candidate_id IS NULL)"
FORMAT = " CONSTRAINT ck_contest_format CHECK (format IN ('swiss', 'round-robin', 'knockout'))"
COLUMN = """
ALTER TABLE contest ADD COLUMN candidate_id INTEGER CONSTRAINT fk_contest_candidate_id REFERENCES bot_version (id);
UPDATE contest SET candidate_id = (SELECT version_id FROM contest_player WHERE contest_id = contest.id AND seed = 1)
    WHERE number IS NULL;
CREATE INDEX ix_contest_candidate_id ON contest (candidate_id) WHERE candidate_id IS NOT NULL;
"""


def upgrade() -> None:
    run(COLUMN)
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite("contest", _edited)
        return
    op.drop_constraint(op.f("ck_contest_format"), "contest", type_="check")
    op.create_check_constraint(op.f("ck_contest_candidate"), "contest", CHECK)


def _edited(text: str) -> str:
    text = replaced(text, FORMAT, "")
    return f"{text.rstrip().removesuffix(')')}, CONSTRAINT ck_contest_candidate CHECK ({CHECK}))"
