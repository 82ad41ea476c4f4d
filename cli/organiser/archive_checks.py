"""The checks of `deadheat season verify`: members, transcripts, names, ranking, seeds, evaluations, stages and log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from deadheat.cli.console import fail
from deadheat.cli.organiser.archive import Archived, opened
from deadheat.cli.organiser.archive_matches import transcripts
from deadheat.cli.organiser.archive_tournaments import Checked, evaluations, finals
from deadheat.cli.output import Output
from deadheat.cli.server.wire import Refused
from deadheat.cli.statistics.recount import dice_of, recount_of, rows
from deadheat.engine.figures import counted
from deadheat.league.verification.agreement import HOSTS_WORD
from deadheat.league.verification.chain import record_sha256

MOST_SHOWN = 20
"""The most sentences shown for one check."""


def verify(file: Annotated[Path, typer.Argument(help="An archive of `season archive`.")]) -> Iterator[Output]:
    """Check an archive by itself: transcripts by the rules and against all tables, the ranking, the dice, all
    evaluations, the finals and the log.

    Exit code 1 if anything is wrong.
    """
    failed = 0
    with opened(file) as archived:
        for check in checks(archived):
            failed += bool(check.wrong)
            answer = {"check": check.name, "verified": not check.wrong, "wrong": list(check.wrong)}
            yield Output(answer | {"detail": check.sentence}, _lines(check))
        yield Output(text=HOSTS_WORD)
    if failed:
        fail(f"{file}: {counted(failed, 'check')} failed")


def _lines(check: Checked) -> Iterator[str]:
    yield f"{'WRONG' if check.wrong else 'right'}  {check.name}: {check.sentence}"
    yield from (f"       {sentence}" for sentence in check.wrong[:MOST_SHOWN])
    if len(check.wrong) > MOST_SHOWN:
        yield f"       and {len(check.wrong) - MOST_SHOWN} more"


def checks(archived: Archived) -> Iterator[Checked]:
    """Run all checks. Whatever is missing counts as wrong."""
    for check in (members, transcripts, players, ranking, dice, evaluations, finals, sources, log):
        try:
            yield check(archived)
        except Exception as error:  # noqa: BLE001  whatever an archive makes a check stumble over is wrong
            yield Checked(check.__name__, "they cannot be read.", (f"{type(error).__name__}: {error}",))


def members(archived: Archived) -> Checked:
    wrong = tuple(archived.wrong_members())
    return Checked("members", f"the manifest names {counted(archived.member_count, 'member')}.", wrong)


def ranking(archived: Archived) -> Checked:
    """Recompute the newest ranking from the tables. Before it is published, it may lag behind them."""
    found = recount_of(archived, archived.season_id)
    lags = archived.season(archived.season_id).published_at is None and len(found.differences) == 1
    if lags and "log_sha256" in found.differences[0]:
        return Checked("ranking", "not compared: results have arrived since it was made, and it is not final.", ())
    told = f"computed again from {counted(found.games, 'game')}." if found.snapshot_id else "nothing is ranked."
    return Checked("ranking", told, (*found.differences, *wrong_standings(archived)))


def sources(archived: Archived) -> Checked:
    """Compare the published sources with their table."""
    try:
        told = list(rows(archived, archived.season_id, "sources"))
    except Refused:
        return Checked("sources", "the archive comes from a server that published none.", ())
    wrong = [
        f"The source of version {row['version_id']} is not the one in the table."
        for row in told
        if sha256(archived.public_source(archived.season_id, row["version_id"])).hexdigest() != row["source_sha256"]
    ]
    return Checked("sources", f"{counted(len(told), 'version')} published.", tuple(wrong))


def dice(archived: Archived) -> Checked:
    found = dice_of(archived, archived.season_id)
    return Checked("dice", found.sentence, found.differences)


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
