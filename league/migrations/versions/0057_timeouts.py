"""Counts of how prompts met their deadlines, filled with what is stored.

Hours, days and seasons are filled, a batch of matches at a time. What no old row says stays unknown: the commands of
void attempts and of answers that counted past their deadlines are left empty, and buckets are known for whole seasons
only, on no machine. A migration that is interrupted has changed nothing and begins again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"

BATCH = 20_000
"""Matches that one statement counts."""

HOUR = {
    "sqlite": "substr({at}, 1, 14) || '00:00.000000'",
    "postgresql": "date_trunc('hour', {at} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
}
LONGER = {
    "sqlite": {
        "day": "substr(begins_at, 1, 10) || ' 00:00:00.000000'",
        "season": "'1970-01-01 00:00:00.000000'",
    },
    "postgresql": {
        "day": "date_trunc('day', begins_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
        "season": "'1970-01-01 00:00:00+00'::timestamptz",
    },
}
WORKER = {
    "sqlite": "a.worker >= k.name || ':' AND a.worker < k.name || ';'",
    "postgresql": "k.name = regexp_replace(a.worker, ':[^:]*$', '')",
}
GIVEN_BACK = {
    "sqlite": "json_extract(a.evidence, '$.past_deadline')",
    "postgresql": "(a.evidence->>'past_deadline')::bigint",
}
SEAT = {"sqlite": "json_extract(a.evidence, '$.seat')", "postgresql": "a.evidence->>'seat'"}

KEY = "span, begins_at, season_id, command, machine, ruled"
FIGURES = ("prompts", "timeouts", "given_back", "void")
PLAYED = "m.finished_at AS at, m.season_id, a.worker, {} FROM match m JOIN attempt a ON a.match_id = m.id {} {}"
OF_PLAYED = "WHERE m.id > :after AND m.id <= :last AND m.finished_at IS NOT NULL AND a.cause = 'played'"
RULED = "v.match_id IS NOT NULL"


def _sources(kind: str) -> Iterator[str]:
    """Yield what each kind of row says, in columns called `at`, `season_id`, `worker`, `command`, and the figures."""
    answers = "l.command, l.limit_ns, l.prompts, 0 AS timeouts, 0 AS given_back, 0 AS void"
    yield PLAYED.format(answers, "JOIN latency_summary l ON l.match_id = m.id", OF_PLAYED)
    late = f"CASE WHEN {RULED} THEN 0 ELSE 1 END AS timeouts, 0 AS given_back, CASE WHEN {RULED} THEN 1 ELSE 0 END"
    late = f"coalesce(p.fault_command, '') AS command, 0 AS limit_ns, 0 AS prompts, {late} AS void"
    seats = "JOIN participant p ON p.match_id = m.id AND p.fault = 'timeout' "
    yield PLAYED.format(late, seats + "LEFT JOIN voided_match v ON v.match_id = m.id", OF_PLAYED)
    given_back = f"'' AS command, 0 AS limit_ns, 0 AS prompts, 0 AS timeouts, {GIVEN_BACK[kind]} AS given_back, 0"
    yield PLAYED.format(f"{given_back} AS void", "", f"{OF_PLAYED} AND {GIVEN_BACK[kind]} > 0")
    void = "'' AS command, 0 AS limit_ns, 0 AS prompts, 0 AS timeouts, 0 AS given_back, 1 AS void"
    which = f"a.match_id > :after AND a.match_id <= :last AND a.cause <> 'played' AND {SEAT[kind]} IS NOT NULL"
    yield f"a.finished_at AS at, a.season_id, a.worker, {void} FROM attempt a WHERE {which}"


INSERT = f"""
    INSERT INTO deadline_count ({KEY}, limit_ns, {", ".join(FIGURES)})
    SELECT '{{span}}', {{begins}} AS begins, season_id, command, {{machine}} AS machine, false, max(limit_ns),
        {", ".join(f"sum({name})" for name in FIGURES)}
    FROM {{source}} WHERE true GROUP BY 2, season_id, command, 5
    ON CONFLICT ({KEY}) DO UPDATE SET
        limit_ns = CASE WHEN excluded.limit_ns > deadline_count.limit_ns THEN excluded.limit_ns
            ELSE deadline_count.limit_ns END,
        {", ".join(f"{name} = deadline_count.{name} + excluded.{name}" for name in FIGURES)}"""

LATE = """
    UPDATE response_times SET timeouts = (
        SELECT count(*) FROM participant p JOIN match m ON m.id = p.match_id
        WHERE p.fault = 'timeout' AND p.version_id = response_times.version_id AND m.asked IS NULL
            AND m.season_id = response_times.season_id AND p.fault_command = response_times.command)
    WHERE version_id IN (SELECT version_id FROM participant WHERE fault = 'timeout')"""


def upgrade() -> None:
    """Forward."""
    words = sa.Enum(
        "minute", "hour", "day", "season", name="span", native_enum=False, create_constraint=True, length=16
    )
    number = {"type_": sa.BigInteger(), "nullable": False}
    op.create_table(
        "deadline_count",
        sa.Column("span", words, nullable=False),
        sa.Column("begins_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(length=64), nullable=False),
        sa.Column("machine", sa.Integer(), nullable=False),
        sa.Column("ruled", sa.Boolean(), nullable=False),
        *(sa.Column(name, **number) for name in ("limit_ns", "prompts", "timeouts", "given_back", "void")),
        sa.Column("counts", sa.JSON(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_deadline_count_season_id")),
        sa.PrimaryKeyConstraint(
            "span", "begins_at", "season_id", "command", "machine", "ruled", name=op.f("pk_deadline_count")
        ),
    )
    op.add_column("response_times", sa.Column("timeouts", sa.BigInteger(), server_default="0", nullable=False))
    for table, name, columns, where in (
        ("participant", "ix_participant_timeouts", ["match_id", "fault_command", "bot_id"], "fault = 'timeout'"),
        ("response_times", "ix_response_times_late", ["season_id", "version_id", "timeouts"], "timeouts > 0"),
    ):
        op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    kind = connection.dialect.name
    machine = f"coalesce((SELECT min(k.id) FROM machine k WHERE {WORKER[kind]}), 0)"
    begins = HOUR[kind].format(at="a.at")
    statements = [
        INSERT.format(span="hour", begins=begins, machine=machine, source=f"(SELECT {source}) AS a")
        for source in _sources(kind)
    ]
    last = connection.execute(sa.text("SELECT max(id) FROM match")).scalar() or 0
    for after in range(0, last, BATCH):
        for statement in statements:
            connection.execute(sa.text(statement), {"after": after, "last": after + BATCH})
    hours = "(SELECT * FROM deadline_count WHERE span = 'hour') AS hours"
    for span, begins in LONGER[kind].items():
        whole = INSERT.format(span=span, begins=begins, machine="machine", source=hours)
        connection.execute(sa.text(whole))
    connection.execute(sa.text(LATE))
    buckets: dict[tuple[int, str], Counter[str]] = {}
    stored = sa.table("response_times", sa.column("season_id"), sa.column("command"), sa.column("counts", sa.JSON()))
    for season_id, command, counts in connection.execute(sa.select(*stored.columns)):
        buckets.setdefault((season_id, command), Counter()).update(counts)
    rows: list[dict[str, Any]] = [
        {"season": season_id, "command": command, "counts": dict(counts)}
        for (season_id, command), counts in buckets.items()
        if counts
    ]
    if rows:
        add = sa.text(
            f"INSERT INTO deadline_count ({KEY}, limit_ns, {', '.join(FIGURES)}, counts) VALUES ('season', "
            f"{LONGER[kind]['season']}, :season, :command, 0, false, 0, 0, 0, 0, 0, :counts) "
            f"ON CONFLICT ({KEY}) DO UPDATE SET counts = excluded.counts"
        )
        connection.execute(add.bindparams(sa.bindparam("counts", type_=sa.JSON())), rows)
