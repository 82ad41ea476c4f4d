"""Counts of how prompts met their deadlines, filled with what is stored, a batch of matches at a time.

Old rows do not say the commands of void attempts and of answers that counted past the deadline; these are left empty.
Buckets are known for whole seasons only, on no machine. An interrupted migration has changed nothing and begins again.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"

BATCH = 10_000
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
KEY = ("span", "begins_at", "season_id", "command", "machine", "ruled")
FIGURES = ("limit_ns", "prompts", "timeouts", "given_back", "void")
ANSWERS = """
    SELECT m.season_id, m.finished_at, a.worker, l.command, max(l.limit_ns) AS limit_ns, sum(l.prompts) AS prompts
    FROM match m JOIN attempt a ON a.match_id = m.id JOIN latency_summary l ON l.match_id = m.id
    WHERE m.id > :after AND m.id <= :last AND m.asked IS NULL AND m.finished_at IS NOT NULL AND a.cause = 'played'
    GROUP BY m.id, a.id, l.command"""
LATE = """
    SELECT m.season_id, m.finished_at, a.worker, p.fault_command AS command,
        sum(CASE WHEN v.match_id IS NULL THEN 1 ELSE 0 END) AS timeouts, count(v.match_id) AS void
    FROM match m JOIN attempt a ON a.match_id = m.id JOIN participant p ON p.match_id = m.id AND p.fault = 'timeout'
    LEFT JOIN voided_match v ON v.match_id = m.id
    WHERE m.id > :after AND m.id <= :last AND m.asked IS NULL AND m.finished_at IS NOT NULL AND a.cause = 'played'
    GROUP BY m.id, a.id, p.fault_command"""
ATTEMPTS = """
    SELECT a.season_id, a.finished_at, a.worker, '' AS command, a.cause, a.evidence
    FROM attempt a JOIN match m ON m.id = a.match_id
    WHERE m.id > :after AND m.id <= :last AND m.asked IS NULL AND a.season_id IS NOT NULL
        AND (a.cause <> 'played' OR CAST(a.evidence AS TEXT) LIKE '%past_deadline%')"""


def upgrade() -> None:
    """Forward."""
    words = sa.Enum(
        "minute", "hour", "day", "season", name="span", native_enum=False, create_constraint=True, length=16
    )

    table = op.create_table(
        "deadline_count",
        sa.Column("span", words, nullable=False),
        sa.Column("begins_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(length=64), nullable=False),
        sa.Column("machine", sa.Integer(), nullable=False),
        sa.Column("ruled", sa.Boolean(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in FIGURES),
        sa.Column("counts", sa.JSON(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_deadline_count_season_id")),
        sa.PrimaryKeyConstraint(*KEY, name=op.f("pk_deadline_count")),
    )
    late, columns = sa.text("fault = 'timeout'"), ["finished_at", "match_id", "fault_command"]
    op.create_index("ix_participant_timeouts", "participant", columns, sqlite_where=late, postgresql_where=late)
    rows = [dict(zip(KEY, key, strict=True)) | figures for key, figures in counted(op.get_bind()).items()]
    if rows:
        op.bulk_insert(table, rows)


def counted(connection: sa.Connection) -> dict[Any, dict[str, Any]]:
    """Return the rows by their keys."""
    machines = {name: number for number, name in connection.execute(sa.text("SELECT id, name FROM machine"))}
    totals: dict[Any, dict[str, Any]] = defaultdict(lambda: dict.fromkeys(FIGURES, 0) | {"counts": {}})
    for row in _rows(connection):
        machine = machines.get((row.worker or "").rpartition(":")[0], 0)
        at = row.finished_at if row.finished_at.tzinfo else row.finished_at.replace(tzinfo=UTC)  # SQLite has no zones
        hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        values = row._asdict()
        if "cause" in values:
            played = row.cause == "played"
            values["given_back"] = row.evidence.get("past_deadline", 0) if played else 0
            values["void"] = int(not played and row.evidence.get("seat") is not None)
        for span, begins in ("hour", hour), ("day", hour.replace(hour=0)), ("season", ALWAYS):
            total = totals[span, begins, row.season_id, row.command or "", machine, False]
            total["limit_ns"] = max(total["limit_ns"], values.get("limit_ns", 0))
            for name in FIGURES[1:]:
                total[name] += int(values.get(name, 0))
    stored = sa.table("response_times", sa.column("season_id"), sa.column("command"), sa.column("counts", sa.JSON()))
    for season_id, command, counts in connection.execute(sa.select(*stored.columns)):
        sums = totals["season", ALWAYS, season_id, command, 0, False]["counts"]
        for place, count in counts.items():
            sums[place] = sums.get(place, 0) + count
    return totals


def _rows(connection: sa.Connection) -> Iterator[Any]:
    last = connection.execute(sa.text("SELECT max(id) FROM match")).scalar() or 0
    for after in range(0, last, BATCH):
        for text in (ANSWERS, LATE, ATTEMPTS):
            evidence = {"evidence": sa.JSON()} if text is ATTEMPTS else {}
            typed = sa.text(text).columns(finished_at=sa.DateTime(timezone=True), **evidence)
            yield from connection.execute(typed, {"after": after, "last": after + BATCH})
