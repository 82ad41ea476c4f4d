"""A league too large to be played, written straight into its database: thousands of bots, a million matches."""

import copy
import random
import sqlite3
from pathlib import Path

from sqlmodel import col, select

from deadheat.engine.chance import commitment
from deadheat.league.database import Database
from deadheat.league.service.rankings.standings import refit
from deadheat.league.tables import RatingSnapshot
from tests.benchmarks.contests.written import evaluation
from tests.league.ground import settings
from tests.league.people import GAME
from tests.league.world import World

AT = "2026-01-01 12:00:00.000000"
SERIES = 10  # matches of a series
SUMMED = 20_000  # only the newest matches have response times, which only a match's own page reads
POINTS = 100  # of each bot's history
TEAMS = 1600  # in each of two evaluations, one that is done and one that is running

_FIRST = 100_000
"""The first id of the rows made here; lower ids belong to the season that was played as a pattern."""

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count) "

_SEATS = "((i * 7919 + seat * (1 + i / :bots % (:bots - 1))) % :bots)"
"""Who sits where in match i: every bot equally often, with changing opponents, and never against itself."""


def crowd(folder: Path, bots: int, matches: int) -> int:
    """Make the league; return the id of its one season."""
    world = World(settings(folder))
    season_id, pattern = _played(world)
    world.close()
    connection = sqlite3.connect(folder / "deadheat.sqlite3", isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -400000"):
        connection.execute(f"PRAGMA {pragma}").close()
    connection.execute("BEGIN")
    _bots(connection, season_id, bots)
    _matches(connection, season_id, bots, matches)
    for number, done in ((1, True), (2, False)):
        evaluation(connection, season_id, number, [*range(_FIRST, _FIRST + min(bots, TEAMS))], done)
    connection.execute("COMMIT")
    connection.close()
    _rank(folder, season_id, bots, matches, pattern)
    return season_id


def _played(world: World) -> tuple[int, dict[str, object]]:
    """Play a small season; its ranking is the pattern for the large one's."""
    season_id = world.season(2, series_length=SERIES, games_per_pair=SERIES)
    world.play_all()
    with world.db.transaction() as session:
        refit(session, season_id)
        [snapshot] = session.exec(select(RatingSnapshot)).all()
        return season_id, copy.deepcopy(snapshot.standings)


def _bots(connection: sqlite3.Connection, season_id: int, bots: int) -> None:
    values = {"count": bots, "first": _FIRST, "at": AT, "game": GAME, "season": season_id, "sha": "b" * 64}
    values["counts"] = '{"30": 5000, "50": 900, "74": 100}'
    for table, columns, rows in (
        (
            "user_account",
            "id, name, name_key, role, created_at",
            ":first + i, 'author-' || i, 'author-' || i, 'author', :at",
        ),
        (
            "bot",
            "id, owner_id, game, name, name_key, created_at",
            ":first + i, :first + i, :game, 'bot-' || i, 'bot-' || i, :at",
        ),
        (
            "bot_version",
            (
                "id, bot_id, number, filename, size_bytes, source_sha256, language, entry, created_at, state, attempt,"
                " queued_at, nudge_at, built_at, program_sha256, reason, log"
            ),
            (
                ":first + i, :first + i, 1, 'bot.py', 10, :sha, 'python', 'main.py', :at, 'ready', 1,"
                " :at, :at, :at, :sha, '', ''"
            ),
        ),
        (
            "entry",
            "season_id, bot_id, version_id, follows, division, created_at",
            ":season, :first + i, :first + i, 1, 1, :at",
        ),
        (
            "response_times",
            "season_id, version_id, command, limit_ns, prompts, total_ns, worst_ns, counts",
            ":season, :first + i, 'ROLL', 500000000, 6000, 60000000000, 310000000, :counts",
        ),
    ):
        connection.execute(f"INSERT INTO {table} ({columns}) {_NUMBERS} SELECT {rows} FROM n", values)
    for second in range(POINTS):
        connection.execute(
            "INSERT INTO rating_point (season_id, second, bot_id, version_id, elo, low, high, rank)"
            f" {_NUMBERS} SELECT :season, :second, :first + i, :first + i, 1500 + i % 300, 1450 + i % 300,"
            " 1550 + i % 300, i + 1 FROM n",
            {**values, "second": 3600 * (second + 1)},
        )


def _matches(connection: sqlite3.Connection, season_id: int, bots: int, matches: int) -> None:
    seed = bytes(32)
    values: dict[str, object] = {"count": matches, "first": _FIRST, "at": AT, "season": season_id, "bots": bots}
    values |= {"seed": seed, "commitment": commitment(seed), "sha": "c" * 64, "length": SERIES}
    values["empty"] = "{}"
    values["summed"] = max(0, matches - SUMMED)
    connection.execute(
        "INSERT INTO series (id, season_id, purpose, state, attempt, queued_at, nudge_at, finished_at, created_at)"
        f" {_NUMBERS} SELECT :first + i, :season, 'ladder', 'done', 1, :at, :at, :at, :at FROM n",
        {**values, "count": -(-matches // SERIES)},
    )
    connection.execute(
        "INSERT INTO match (id, series_id, season_id, number, seed, commitment, state, rated, transcript_sha256,"
        f" created_at, finished_at) {_NUMBERS} SELECT :first + i, :first + i / :length, :season, i % :length, :seed,"
        " :commitment, 'done', 1, :sha, :at, :at FROM n",
        values,
    )
    seated = f"SELECT i, seat, {_SEATS} AS place FROM n, (SELECT 0 AS seat UNION ALL SELECT 1)"
    connection.execute(
        "INSERT INTO participant (match_id, seat, version_id, bot_id, rank, points, fault, fault_command,"
        f" fault_elapsed_ms, fault_why, finished_at) {_NUMBERS}"
        " SELECT :first + i, seat, :first + place, :first + place, 1 + (seat + i) % 2, '1000',"
        " CASE WHEN i % 97 = 0 AND seat = 0 THEN 'timeout' END, 'ROLL', 500.1, 'late',"
        f" :at FROM ({seated})",
        values,
    )
    connection.execute(
        f"INSERT INTO latency_summary {_NUMBERS} SELECT :first + i, seat, 'ROLL', 500000000, 12, 60000000, 9000000"
        " FROM n, (SELECT 0 AS seat UNION ALL SELECT 1) WHERE i >= :summed",
        values,
    )
    connection.execute(
        "INSERT INTO attempt (season_id, series_id, match_id, attempt, cause, detail, evidence, finished_at)"
        f" {_NUMBERS} SELECT :season, :first + i / :length, :first + i, 1, 'played', '', :empty, :at FROM n",
        values,
    )


def _rank(folder: Path, season_id: int, bots: int, matches: int, pattern: dict[str, object]) -> None:
    """Store a ranking as if it had been computed: rows like the pattern's with other figures."""
    rng = random.Random(1)
    rows = pattern["rows"]
    assert isinstance(rows, list)
    made = []
    for place in range(bots):
        elo = 2200 - 1400 * place / bots
        row = dict(rows[0])
        row |= {"rank": place + 1, "tied": False, "rank_low": max(1, place - 20), "rank_high": place + 20}
        row |= {"version_id": _FIRST + place, "bot_id": _FIRST + place, "bot": f"bot-{place}", "team": None}
        row |= {"author": f"author-{place}", "elo": elo, "low": elo - 40, "high": elo + 40, "games": 1000}
        row |= {"wins": 500, "draws": 0, "losses": 500, "bot_games": 1000, "timeouts": rng.randrange(10)}
        made.append(row)
    totals = {"rated": matches, "matches": matches, "abandoned": 0, "voids": 0, "timeouts": 5000, "other_faults": 0}
    latency = {str(_FIRST + place): {"p99": 0.3, "bars": [0, 0, 1, 3, 7, 9, 5, 3, 2, 1, 1, 0]} for place in range(bots)}
    database = Database(settings(folder))
    with database.transaction() as session:
        newest = session.exec(select(RatingSnapshot).order_by(col(RatingSnapshot.id).desc())).first()
        assert newest is not None
        values = {name: getattr(newest, name) for name in ("season_id", "log_sha256", "config", "created_at")}
        standings = {**pattern, "rows": made, "unranked": [], "totals": totals, "latency": latency}
        session.add(RatingSnapshot(**values, standings=standings))
    database.close()
