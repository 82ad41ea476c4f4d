"""Recomputes a server's ranking from its exports, which anybody can do without its database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from deadheat.cli.server.api_client import Client

if TYPE_CHECKING:
    from deadheat.league.ratings import Log
    from deadheat.league.verification.comparison import Recount
    from deadheat.league.verification.fairness import DiceCheck

Row = dict[str, Any]
"""A row of an export."""

MAX_ROW_BYTES = 1024 * 1024

DISQUALIFIED = "disqualified"
PASSED = "passed"


def recount_of(client: Client, season_id: int) -> Recount:
    """Compare the newest ranking with one recomputed from exported results by its configuration. Raises Refused."""
    from deadheat.league.verification.comparison import Recount, differences, model_of, remade

    board = client.call("GET", f"/v1/seasons/{season_id}/leaderboard")
    snapshot_id = board["snapshot_id"]
    if snapshot_id is None:
        return Recount(season_id, None, None, 0, (), None)
    log = exported_log(client, season_id)
    try:
        config = model_of(board["config"])
    except ValueError as error:
        return Recount(season_id, snapshot_id, log.sha256, log.games, (f"The ranking was {error}.",), None)
    if log.sha256 != board["log_sha256"]:
        found = differences({"log_sha256": board["log_sha256"]}, {"log_sha256": log.sha256})
    else:
        passed = _passed(client, season_id, board["created_at"])
        found = differences(board, remade(board, config, log, passed))
    return Recount(season_id, snapshot_id, log.sha256, log.games, found, None)


def dice_of(client: Client, season_id: int) -> DiceCheck:
    """Check that the dice of the exported matches are those to which the season had committed. Raises Refused."""
    from deadheat.league.verification.fairness import Dealt, check_dice, told

    season = client.season(season_id)
    records = client.audit(f"season/{season_id}", oldest_first=True)
    seats: dict[int, tuple[int, ...]] = {}
    for row in rows(client, season_id, "participants"):
        seats[row["match_id"]] = (*seats.get(row["match_id"], ()), row["version_id"])
    matches = rows(client, season_id, "matches")
    dealt = (
        Dealt(
            row["match_id"],
            row["deal"],
            row["commitment"],
            row["seed"],
            seats.get(row["match_id"], ()),
            row.get("asked") is not None,  # older servers do not send this
        )
        for row in matches
    )
    about = ((record.action, record.data) for record in records)
    return check_dice(told(season.game, season.dice_commitment, season.dice_secret, about), dealt)


def exported_log(client: Client, season_id: int) -> Log:
    """Build a season's log, like `league.service.rankings.ranking`, from the public exports."""
    from deadheat.league.ratings.log import read
    from deadheat.league.states import WITH_RESULT

    out = {row["bot_id"] for row in rows(client, season_id, "entries") if row["absence"] == DISQUALIFIED}
    commitments = {
        row["match_id"]: row["commitment"]
        for row in rows(client, season_id, "matches")
        if row["state"] in WITH_RESULT and row["rated"] and not row["voided"]
    }

    def lines() -> Iterator[bytes]:
        for match_id, seats in groupby(rows(client, season_id, "participants"), lambda row: row["match_id"]):
            seated = list(seats)
            if match_id in commitments and not out & {seat["bot_id"] for seat in seated}:
                game = {
                    "players": [seat["version_id"] for seat in seated],
                    "ranks": [seat["rank"] for seat in seated],
                    "group": commitments[match_id],
                }
                yield json.dumps(game).encode()

    return read(lines())


def _passed(client: Client, season_id: int, ranked_at: str) -> set[int]:
    """Return the versions that had passed a promotion gate by the time of the ranking."""
    return {
        row["candidate_id"]
        for row in rows(client, season_id, "gates")
        if row["state"] == PASSED and datetime.fromisoformat(row["ended_at"]) <= datetime.fromisoformat(ranked_at)
    }


def rows(client: Client, season_id: int, table: str) -> Iterator[Row]:
    """Yield the rows of an export as they arrive. Raises ValueError if they are not rows."""
    rest = b""
    for piece in client.export(season_id, table, "jsonl"):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            row = json.loads(line)
            if not isinstance(row, dict) or any(isinstance(value, dict | list) for value in row.values()):
                raise ValueError(f"the export {table} has a line that is not a row")
            yield row
        if len(rest) > MAX_ROW_BYTES:
            raise ValueError(f"the export {table} has a line of more than {MAX_ROW_BYTES} bytes")
    if rest:
        raise ValueError(f"the export {table} does not end with a line")
