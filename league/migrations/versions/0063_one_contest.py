"""Gates, requests and panels become contests with meetings, and a series knows only its meeting.

A challenge of a gate or a request becomes a contest with one meeting, a panel's run a contest with one meeting for each
of its challenges. They get numbers above all that were given in the three tables, and keep the one that people know in
`former_id`. What is running goes on from its matches. Where the migration is interrupted, its transaction is rolled
back and all of it is done again; for a while the database needs twice the space of these tables and, in SQLite, of the
series.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from deadheat.league.migrations.checks import edit_in_sqlite, replaced
from deadheat.league.migrations.sql import run

revision = "0063"
down_revision = "0062"

KINDS = "kind IN ('evaluation', 'stage')", "kind IN ('evaluation', 'stage', 'gate', 'request', 'panel')"
STATES = (
    "state IN ('running', 'done', 'cancelled')",
    "state IN ('running', 'done', 'cancelled', 'passed', 'failed', 'ended')",
)
CHECKS = {
    "evaluation": "(kind IN ('evaluation', 'stage')) = (number IS NOT NULL)",
    "entry": "(kind IN ('gate', 'panel')) = (entry_id IS NOT NULL)",
    "asker": "(kind = 'request') = (asker_id IS NOT NULL)",
    "private": "kind = 'request' OR NOT private",
}
OPTIONAL = ("number INTEGER", "format VARCHAR(16)", "due_at {instant}")
"""The columns of a contest that need no longer have a value."""

COLUMNS = """
ALTER TABLE contest ADD COLUMN entry_id INTEGER CONSTRAINT fk_contest_entry_id REFERENCES entry (id);
ALTER TABLE contest ADD COLUMN asker_id INTEGER CONSTRAINT fk_contest_asker_id REFERENCES user_account (id);
ALTER TABLE contest ADD COLUMN private BOOLEAN DEFAULT FALSE NOT NULL;
ALTER TABLE contest ADD COLUMN former_id INTEGER;
ALTER TABLE contest ADD COLUMN terms JSON;
ALTER TABLE contest ADD COLUMN result JSON;
ALTER TABLE meeting ADD COLUMN planned INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE meeting ADD COLUMN score JSON;
DROP INDEX ix_contest_running;
CREATE UNIQUE INDEX ix_contest_running ON contest (season_id) WHERE state = 'running' AND number IS NOT NULL;
CREATE INDEX ix_contest_season_id_kind_state ON contest (season_id, kind, state);
CREATE INDEX ix_contest_entry_id ON contest (entry_id) WHERE entry_id IS NOT NULL;
CREATE INDEX ix_contest_asker_id ON contest (asker_id, created_at) WHERE asker_id IS NOT NULL;
CREATE UNIQUE INDEX ix_contest_former_id ON contest (kind, former_id) WHERE former_id IS NOT NULL;
"""

PLAYERS_IN_SQLITE = """
ALTER TABLE contest_player RENAME TO former_player;
CREATE TABLE contest_player (
    contest_id INTEGER NOT NULL CONSTRAINT fk_contest_player_contest_id REFERENCES contest (id),
    version_id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    seed INTEGER NOT NULL CONSTRAINT ck_contest_player_seed CHECK (seed >= 1),
    place INTEGER CONSTRAINT ck_contest_player_place CHECK (place >= 1),
    figures JSON,
    gone_after INTEGER CONSTRAINT ck_contest_player_gone_after CHECK (gone_after >= 0),
    CONSTRAINT fk_contest_player_version_id_bot_id
        FOREIGN KEY (version_id, bot_id) REFERENCES bot_version (id, bot_id),
    CONSTRAINT pk_contest_player PRIMARY KEY (contest_id, version_id),
    CONSTRAINT uq_contest_player_contest_id_seed UNIQUE (contest_id, seed)
);
INSERT INTO contest_player (contest_id, version_id, bot_id, seed, place, figures, gone_after)
    SELECT contest_id, version_id, bot_id, seed, place, figures, gone_after FROM former_player;
DROP TABLE former_player;
CREATE INDEX ix_contest_player_bot_id ON contest_player (bot_id);
"""

SERIES = """
UPDATE series SET meeting_id = challenge_id + {before} WHERE challenge_id IS NOT NULL;
DROP INDEX ix_series_challenge_id;
ALTER TABLE series DROP COLUMN challenge_id;
DROP TABLE challenge;
DROP TABLE panel_run;
"""
MEETING = "(purpose IN ('ladder', 'finals')) = (meeting_id IS NULL)"
COUNTERS = """
SELECT setval(pg_get_serial_sequence('contest', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM contest), FALSE);
SELECT setval(pg_get_serial_sequence('meeting', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM meeting), FALSE);
"""
AT_ONCE = 1000
"""The number of rows that are moved at a time."""


def upgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    run(COLUMNS)
    if sqlite:
        edit_in_sqlite("contest", _contest)
        run(PLAYERS_IN_SQLITE)
        edit_in_sqlite("series", _series)
    else:
        _in_postgresql()
    before = _move()
    run(SERIES.format(before=before))
    if sqlite:
        edit_in_sqlite("series", lambda text: _with_checks(text, "series", {"meeting": MEETING}))
        return
    op.create_check_constraint(op.f("ck_series_meeting"), "series", MEETING)
    run(COUNTERS)


def _contest(text: str) -> str:
    for column in OPTIONAL:
        named = column.format(instant="DATETIME")
        text = replaced(text, f"{named} NOT NULL", named)
    for before, after in (KINDS, STATES):
        text = replaced(text, f"CHECK ({before})", f"CHECK ({after})")
    return _with_checks(text, "contest", CHECKS)


def _series(text: str) -> str:
    text = re.sub(r",?\s*CONSTRAINT ck_series_(?:evaluation|challenge)\s+CHECK \(.*?IS NOT NULL\)\)", "", text)
    return replaced(text, "CONSTRAINT fk_series_challenge_id REFERENCES challenge (id)", "")


def _with_checks(text: str, table: str, checks: Mapping[str, str]) -> str:
    added = ", ".join(f"CONSTRAINT ck_{table}_{name} CHECK ({check})" for name, check in checks.items())
    return f"{text.rstrip().removesuffix(')')}, {added})"


def _in_postgresql() -> None:
    for column in ("number", "format", "due_at"):
        op.alter_column("contest", column, nullable=True)
    for name, (_, after) in (("kind", KINDS), ("state", STATES)):
        op.drop_constraint(op.f(f"ck_contest_{name}"), "contest", type_="check")
        op.create_check_constraint(op.f(f"ck_contest_{name}"), "contest", after)
    for name, check in CHECKS.items():
        op.create_check_constraint(op.f(f"ck_contest_{name}"), "contest", check)
    op.drop_constraint("uq_contest_player_contest_id_bot_id", "contest_player", type_="unique")
    for name in ("evaluation", "challenge"):
        op.drop_constraint(op.f(f"ck_series_{name}"), "series", type_="check")


# Moving the rows ----------------------------------------------------------------------------------------------------


def _move() -> int:
    """Move all rows; return by how much the number of a meeting exceeds that of its challenge."""
    known = sa.MetaData()
    known.reflect(op.get_bind(), only=("challenge", "panel_run", "contest_player", "meeting_player"))
    names = ("challenge", "panel_run", "contest", "meeting")
    challenges, runs, contests, meetings = (known.tables[name] for name in names)
    meeting = _highest(meetings)
    contest = max(_highest(table) for table in (contests, challenges, runs))
    panel = contest + _highest(challenges)
    bots = known.tables["bot_version"]
    for rows in _pages(runs):
        of_version = _bots(bots, rows, "version_id")
        _insert(contests, [_panel(row, row["id"] + panel) for row in rows])
        players = [_player(row["id"] + panel, row["version_id"], of_version, 1) for row in rows]
        _insert(known.tables["contest_player"], players)
    boards: dict[int, int] = {}
    for rows in _pages(challenges):
        of_version = _bots(bots, rows, "candidate_id", "incumbent_id")
        alone = [row for row in rows if row["panel_id"] is None]
        _insert(contests, [_single(row, row["id"] + contest) for row in alone])
        met, players = [], [_player(row["id"] + contest, row["candidate_id"], of_version, 1) for row in alone]
        for row in rows:
            number = row["id"] + contest if row["panel_id"] is None else row["panel_id"] + panel
            board = boards[number] = boards.get(number, 0) + 1
            met.append(_meeting(row, number, board) | {"id": row["id"] + meeting})
            players.append(_player(number, row["incumbent_id"], of_version, board + 1))
        _insert(known.tables["contest_player"], players)
        _insert(meetings, met)
        seats = [
            {"meeting_id": row["id"] + meeting, "seat": seat, "version_id": row[side], "points": None}
            for row in rows
            for seat, side in enumerate(("candidate_id", "incumbent_id"))
        ]
        _insert(known.tables["meeting_player"], seats)
    return meeting


def _highest(table: sa.Table) -> int:
    return int(op.get_bind().execute(sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0))).scalar_one())


def _pages(table: sa.Table) -> Iterator[Sequence[Any]]:
    last, page = 0, sa.select(table).order_by(table.c.id).limit(AT_ONCE)
    while rows := op.get_bind().execute(page.where(table.c.id > last)).mappings().all():
        yield rows
        last = rows[-1]["id"]


def _bots(versions: sa.Table, rows: Sequence[Any], *columns: str) -> dict[int, int]:
    wanted = {row[column] for row in rows for column in columns}
    pairs = op.get_bind().execute(sa.select(versions.c.id, versions.c.bot_id).where(versions.c.id.in_(wanted)))
    return {row.id: row.bot_id for row in pairs}


def _insert(table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        op.get_bind().execute(table.insert(), rows)


def _common(row: Any, number: int) -> dict[str, Any]:
    kept = {name: row[name] for name in ("season_id", "entry_id", "state", "reason", "created_at", "ended_at")}
    unused = {"name": "", "rounds": 1, "rated": False}
    return {"id": number, "former_id": row["id"], **kept, **unused}


def _panel(row: Any, number: int) -> dict[str, Any]:
    terms = {"panel": row["panel"], "minimum": row["minimum"], "chosen": bool(row["chosen"])}
    result = {name: row[name] for name in ("points", "elo", "se")}
    return {**_common(row, number), "kind": "panel", "matches": row["games"], "terms": terms, "result": result}


def _single(row: Any, number: int) -> dict[str, Any]:
    tested = {} if row["elo0"] is None else {name: row[name] for name in ("elo0", "elo1", "alpha", "beta")}
    kind = "gate" if row["asker_id"] is None else "request"
    whose = {"asker_id": row["asker_id"], "private": row["private"]}
    return {**_common(row, number), **whose, "kind": kind, "matches": row["games_limit"], "terms": tested}


def _player(contest: int, version: int, bots: Mapping[int, int], seed: int) -> dict[str, Any]:
    return {"contest_id": contest, "version_id": version, "bot_id": bots[version], "seed": seed}


def _meeting(row: Any, contest: int, board: int) -> dict[str, Any]:
    score = {name: row[name] for name in ("wins", "draws", "losses", "llr")}
    place = {"contest_id": contest, "round": 1, "board": board, "settled": False}
    return {**place, "planned": row["games_planned"], "score": score}
