"""Compares an archive's names with each other, its ranking with the table of it, and its log with the log's hashes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from deadheat.cli.organiser.archive import Archived
from deadheat.cli.organiser.archive_tournaments import Checked
from deadheat.cli.server.wire import Refused
from deadheat.cli.statistics.recount import rows
from deadheat.engine.figures import counted
from deadheat.league.verification.chain import record_sha256

NAMED = "participants", "entries", "evaluation_players", "panels", "sources"
"""Tables with names of bots and numbers of versions; the first one is compared with the transcripts."""

RANKED = "standings", "leaderboard"
"""They keep the names that bots had when the ranking was made."""

Facts = dict[tuple[str, int], Any]
"""What a number stands for: an author, a bot, or a version's bot and number, by kind and number."""


def players(archived: Archived) -> Checked:
    """Compare all names of bots and authors, and the numbers of versions, with those of the seats."""
    known: Facts = {}
    wrong: dict[str, None] = {}
    for table, row in _named(archived):
        for (kind, number), value in _facts(row).items():
            if table in RANKED and kind == "bot" and value not in _others(known, number):
                continue  # it may have been renamed since
            if known.setdefault((kind, number), value) != value:
                what = "version" if kind == "version" else "bot"
                wrong[f"The {kind} of {what} {number} is {known[kind, number]}, but {value} in {table}."] = None
    bots = counted(sum(kind == "bot" for kind, _ in known), "bot")
    return Checked("players", f"the names of {bots} are the same everywhere.", tuple(wrong))


def _named(archived: Archived) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for table in NAMED:
        try:
            yield from ((table, row) for row in rows(archived, archived.season_id, table))
        except Refused:
            if table not in ("sources", "panels", "evaluation_players"):  # older servers did not have them
                raise
    yield from (("standings", row) for row in rows(archived, archived.season_id, "standings"))
    yield from (("leaderboard", row) for row in _ranked(_board(archived)))


def _facts(row: Mapping[str, Any]) -> Facts:
    found: Facts = {("bot", row["bot_id"]): row["bot"]}
    if "author" in row:
        found["author", row["bot_id"]] = row["author"]
    if row["version_id"] is not None:
        found["version", row["version_id"]] = (row["bot_id"], row["version"])
    return found


def _others(known: Facts, bot_id: int) -> set[str]:
    """Return the names of the same author's other bots, and this bot's own."""
    author = known.get(("author", bot_id))
    of_author = {number for (kind, number), value in known.items() if kind == "author" and value == author}
    return {known["bot", number] for number in of_author if ("bot", number) in known}


def _board(archived: Archived) -> Mapping[str, Any]:
    found: Mapping[str, Any] = archived.call("GET", f"/v1/seasons/{archived.season_id}/leaderboard")
    return found


def _ranked(board: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*board["rows"], *board["unranked"]] if board["snapshot_id"] is not None else []


def wrong_standings(archived: Archived) -> Iterator[str]:
    """Compare the table of standings with the ranking, row by row; yield a sentence for each difference."""
    board, table = _board(archived), list(rows(archived, archived.season_id, "standings"))
    if archived.season(archived.season_id).published_at is None and any(
        row["snapshot_id"] != board["snapshot_id"] for row in table
    ):
        return  # there was a newer ranking when the table was written
    if len(table) != len(_ranked(board)):
        yield f"The table of standings has {counted(len(table), 'row')}, the ranking {len(_ranked(board))}."
    for place, (told, row) in enumerate(zip(table, _ranked(board), strict=False), 1):
        if names := [name for name in told.keys() & row.keys() if told[name] != row[name]]:
            yield f"Row {place} of the table of standings differs from the ranking: {', '.join(sorted(names))}."


def log(archived: Archived) -> Checked:
    """Recompute the hashes of the public log's records about the season, and their chain where two are adjacent."""
    records = list(archived.audit(f"season/{archived.season_id}", oldest_first=True))
    wrong = [f"Record {one.id} is not what its hash says." for one in records if record_sha256(one) != one.sha256]
    for one, following in pairwise(records):
        if following.id <= one.id:
            wrong.append(f"Record {following.id} does not come after record {one.id}.")
        elif following.id == one.id + 1 and following.prev_sha256 != one.sha256:
            wrong.append(f"Record {following.id} does not follow from record {one.id}.")
    season = archived.season(archived.season_id)
    if season.published_at is not None:
        told = [json.loads(record.data) for record in records if record.action == "season-published"]
        if [(data.get("log_sha256"), data.get("dice_secret")) for data in told] != [
            (season.log_sha256, season.dice_secret)
        ]:
            wrong.append("The log's record of the publication has other figures than the season.")
    said = f"{counted(len(records), 'record')} hashed again; the server's log has what is between them"
    return Checked("log", f"{said} (`deadheat audit --check`).", tuple(wrong))
