"""A match writes fewer index entries, and the database no longer looks up its seats for each response time.

Response times and ends of processes are stored with their seat's result, and no seat is ever removed. The index that
lists a version's matches now also ensures that a version has only one seat in each.
"""

import re
from functools import partial

from alembic import op

from deadheat.league.migrations.checks import edit_in_sqlite, replaced

revision = "0053"
down_revision = "0052"

SEATED = r",\s*CONSTRAINT fk_{}_match_id_seat FOREIGN KEY\(match_id, seat\) REFERENCES participant \(match_id, seat\)"
"""Release 0.2.0 and its schema in one piece (0023) indent their lines differently."""


def upgrade() -> None:
    in_sqlite = op.get_bind().dialect.name == "sqlite"
    if not in_sqlite:  # all at once, before the index is made: others who hold one of them may want another
        op.execute("LOCK TABLE latency_summary, ending, participant IN ACCESS EXCLUSIVE MODE")
    op.drop_index(op.f("ix_participant_version_id_match_id"), "participant")
    if in_sqlite:
        unique = "CONSTRAINT uq_participant_{} UNIQUE {}"
        before = unique.format("match_id_version_id", "(match_id, version_id)")
        after = unique.format("version_id_match_id", "(version_id, match_id)")
        edit_in_sqlite("participant", lambda text: replaced(text, before, after))
        op.execute("REINDEX participant")
        listed = op.get_bind().exec_driver_sql("PRAGMA index_info(sqlite_autoindex_participant_2)").all()
        assert [row[2] for row in listed] == ["version_id", "match_id"], listed
    else:
        op.drop_constraint(op.f("uq_participant_match_id_version_id"), "participant")
        op.create_unique_constraint(
            op.f("uq_participant_version_id_match_id"), "participant", ["version_id", "match_id"]
        )
    for table in ("latency_summary", "ending"):
        if in_sqlite:
            edit_in_sqlite(table, partial(_without_seats, table))
        else:
            op.drop_constraint(op.f(f"fk_{table}_match_id_seat"), table)


def _without_seats(table: str, text: str) -> str:
    (seats,) = re.findall(SEATED.format(table), text)
    return replaced(text, seats, "")
