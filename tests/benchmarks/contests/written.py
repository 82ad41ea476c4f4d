"""Evaluations of many bots, written straight into a league's database: a Swiss tournament with all rounds played."""

import json
import sqlite3
from typing import Any

from deadheat.engine.chance import commitment
from deadheat.league.pairing import figures, swiss, tournament
from deadheat.league.pairing.formats import EvaluationFormat

ROUNDS = 20
AT = "2026-01-01 11:00:00.000000"

_TAKEN = ((2.0, 0.0), (1.0, 1.0), (0.0, 2.0))


def evaluation(connection: sqlite3.Connection, season_id: int, number: int, versions: list[int], done: bool) -> None:
    """Write one of these versions, each with its bot's id. It has final places only if it is `done`.

    The ids of its rows are multiples of a thousand times those of the versions, so that they are free.
    """
    met: list[figures.Meeting] = []
    for round_ in range(1, ROUNDS + 1):
        pairs, _ = swiss.draw(versions, set(versions), met)
        met += [figures.Meeting(round_, pair, _TAKEN[sum(pair) % 3]) for pair in pairs]
    values: dict[str, Any] = {"id": number, "season": season_id, "rounds": ROUNDS, "at": AT}
    values["first"] = number * 1000 * versions[0]
    values |= {"state": "done" if done else "running", "ended": AT if done else None}
    values |= {"seed": bytes(32), "commitment": commitment(bytes(32)), "sha": "c" * 64}
    connection.execute(
        "INSERT INTO contest (id, season_id, kind, number, name, format, rounds, matches, rated, state, reason, due_at,"
        " created_at, ended_at)"
        " VALUES (:id, :season, 'evaluation', :id, 'Daily ' || :id, 'swiss', :rounds, 2, 0, :state, '', :at, :at,"
        " :ended)",
        values,
    )
    standings = tournament.placed(EvaluationFormat.SWISS.rules.figures(), versions, met)
    connection.executemany(
        "INSERT INTO contest_player (contest_id, version_id, bot_id, seed, place, figures) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, one.player, one.player, one.seed, *((one.place, json.dumps(one.figures)) if done else (None,) * 2))
            for one in standings
        ],
    )
    boards = len(versions) // 2
    connection.executemany(
        "INSERT INTO meeting (id, contest_id, board, round, settled) VALUES (?, ?, ?, ?, 1)",
        [(values["first"] + at, number, at % boards + 1, one.round) for at, one in enumerate(met)],
    )
    connection.executemany(
        "INSERT INTO meeting_player (meeting_id, seat, version_id, points) VALUES (?, ?, ?, ?)",
        [
            (values["first"] + at, seat, *taken)
            for at, one in enumerate(met)
            for seat, taken in enumerate(zip(one.players, one.points, strict=True))
        ],
    )
    for statement in _WRITTEN:
        connection.execute(statement, values)


_PAIRINGS = "FROM meeting"
_WRITTEN = (
    (
        "INSERT INTO series (id, season_id, purpose, meeting_id, state, attempt, queued_at, nudge_at, finished_at,"
        f" created_at) SELECT id, :season, 'evaluation', id, 'done', 1, :at, :at, :at, :at {_PAIRINGS}"
        " WHERE contest_id = :id"
    ),
    (
        "INSERT INTO match (id, series_id, season_id, number, seed, commitment, state, rated, transcript_sha256,"
        " created_at, finished_at) SELECT 2 * id + number, id, :season, number, :seed, :commitment, 'done', 0, :sha,"
        f" :at, :at {_PAIRINGS}, (SELECT 0 AS number UNION ALL SELECT 1) WHERE contest_id = :id"
    ),
    (
        "INSERT INTO participant (match_id, seat, version_id, bot_id, rank, points, finished_at)"
        " SELECT 2 * id + number, abs(seat - number), version_id, version_id, 1 + seat, '1000', :at"
        f" {_PAIRINGS} JOIN meeting_player ON meeting_id = id, (SELECT 0 AS number UNION ALL SELECT 1)"
        " WHERE contest_id = :id"
    ),
)
"""Two matches of each pairing, so that each bot has either seat once."""
