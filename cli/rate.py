"""Ratings of a log of results or of a season, whose ranking can be recomputed and compared, and the sequential test."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import TypeAdapter
from rich.console import RenderableType

from deadheat.cli.author.results import standings_table
from deadheat.cli.console import USAGE, cannot, fail, short
from deadheat.cli.output import Column, Columns, Output, places, says, table
from deadheat.cli.server.api_client import Client, doubting
from deadheat.cli.server.client import connect
from deadheat.engine.figures import counted
from deadheat.league.records.rankings import Leaderboard, sentences, tally

if TYPE_CHECKING:
    from sqlmodel import Session

    from deadheat.league.ratings import Log, Rating, RatingConfig, RatingTable
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
    log = _exported_log(client, season_id)
    try:
        config = model_of(board["config"])
    except ValueError as error:
        return Recount(season_id, snapshot_id, log.sha256, log.games, (f"The ranking was {error}.",), None)
    if log.sha256 != board["log_sha256"]:
        differing = differences({"log_sha256": board["log_sha256"]}, {"log_sha256": log.sha256})
    else:
        passed = _passed(client, season_id, board["created_at"])
        differing = differences(board, remade(board, config, log, passed))
    return Recount(season_id, snapshot_id, log.sha256, log.games, differing, None)


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


def _exported_log(client: Client, season_id: int) -> Log:
    """Build a season's log, like `league.service.rankings.ranking.season_log`, from the public exports."""
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


MOST_SD_ELO = 10_000.0
NAME_WIDTH = 28

UNITS = Path("/etc/deadheat/env")
"""The settings of a deployment as systemd units (docs/reference/settings.md), which a shell does not have by itself."""

File = Annotated[Path | None, typer.Argument(help="Games, one JSON object per line; - is standard input.")]
PriorSd = Annotated[
    str, typer.Option(metavar="X|none", help="For a file: deviation of newcomers' strengths around 1500, in Elo.")
]


@says
def rate(
    file: File = None,
    prior_sd: PriorSd = "350",
    ranks: Annotated[
        Literal["placement", "wins"], typer.Option(help="For a file: what counts at tables of three or more.")
    ] = "placement",
    season: Annotated[
        int | None,
        typer.Option(
            help="Rate this season instead: on the server's machine, from its database (DEADHEAT_DATA_DIR, "
            "DEADHEAT_DATABASE_URL); elsewhere with --check --server.",
            min=1,
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare with the season's ranking and dice.")] = False,
    server: Annotated[str | None, typer.Option(help="Check this server's ranking, from what it exports.")] = None,
) -> Output:
    """Rate a log of games, one per line: {"players": [...], "ranks": [...]}, and "group" if matches share dice.

    With --season and --check, compute the newest ranking again and, once the season is over, all its seeds: on the
    server's machine from its database, elsewhere from what a --server exports. Exit code 1 if anything differs.
    """
    if (file is None) == (season is None):
        fail("give either a file or --season", USAGE)
    if check and season is None:
        fail("--check needs --season", USAGE)
    if server is not None and not check:
        fail("--server works only with --check", USAGE)
    if file is not None:
        rated = _rated(file, _config(prior_sd, ranks))
        return Output(_report(rated), _rating_lines(rated))
    assert season is not None
    return _checked(season, server) if check else _season(season)


def _config(prior_sd: str, ranks: str) -> RatingConfig:
    from deadheat.league.ratings import RatingConfig
    from deadheat.league.states import Ranks

    if prior_sd.lower() == "none":
        return RatingConfig(prior_sd_elo=None, ranks=Ranks(ranks))
    try:
        sd_elo = float(prior_sd)
    except ValueError:
        sd_elo = math.nan
    if not 0 < sd_elo <= MOST_SD_ELO:
        fail(f"--prior-sd is a number above 0 and at most {MOST_SD_ELO:g}, or none", USAGE)
    return RatingConfig(prior_sd_elo=sd_elo, ranks=Ranks(ranks))


def _rated(file: Path, config: RatingConfig) -> RatingTable:
    from deadheat.league.ratings import NoRating
    from deadheat.league.ratings import rate as rated
    from deadheat.league.ratings.log import BadLine, read

    try:
        with nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as lines:
            return rated(read(lines), config)
    except OSError as error:
        cannot(f"read {file}", error, USAGE)
    except BadLine as error:
        fail(f"{file}, {error}", USAGE)
    except NoRating:
        fail(
            "without a prior these games determine no ratings: some players never lost to the rest, or never met them; "
            "give --prior-sd a number",
            USAGE,
        )


def _report(table: RatingTable) -> dict[str, Any]:
    from deadheat.league.ratings.quality import PAIR_TABLE_PLAYERS

    first = [entry.player for entry in table.entries[:PAIR_TABLE_PLAYERS]]
    return {
        "entries": [_entry(entry) for entry in table.entries],
        "games": table.log.games,
        "log_sha256": table.log.sha256,
        "config": table.config.as_json(),
        "fit": asdict(table.fit()),
        "seats": [asdict(effect) for effect in table.seats()],
        "pairs": {"players": first, **asdict(table.pairs(first))},
    }


def _entry(entry: Rating) -> dict[str, Any]:
    facts = asdict(entry)
    interval, place = [facts.pop("low"), facts.pop("high")], facts.pop("place")
    ranks = {"rank": place["rank"], "rank_low": place["low"], "rank_high": place["high"]}
    return facts | ranks | {"ci95": interval, "gap_elo": place["gap_elo"], "gap_se": place["gap_se"]}


def _rating_lines(rated: RatingTable) -> Iterator[RenderableType]:
    facts = _report(rated)
    entries = facts["entries"]
    if not entries:
        yield "There are no games."
        return
    ranks = [entry["rank"] for entry in entries]
    second = [entry["plackett_luce"] for entry in entries]
    columns: Columns[dict[str, Any]] = (
        Column("#", lambda row: f"{row['rank']}{'=' if ranks.count(row['rank']) > 1 else ''}", right=True),
        Column("places", lambda row: places(row["rank_low"], row["rank_high"]), right=True),
        Column("player", lambda row: short(row["player"], NAME_WIDTH), whole=True),
        Column("rating", lambda row: f"{row['elo']:.0f} ± {(row['ci95'][1] - row['ci95'][0]) / 2:.0f}", right=True),
        Column("games", lambda row: row["games"], right=True),
        Column("W / D / L", lambda row: f"{row['wins']} / {row['draws']} / {row['losses']}", right=True),
    )
    if any(rating is not None for rating in second):
        columns += (Column("PL", lambda row: f"{row['plackett_luce']:.0f}", right=True),)
    yield table(entries, columns)
    if tallied := tally(facts["config"], second):
        yield tallied
    yield f"{counted(facts['games'], 'game')}, log {facts['log_sha256'][:16]}"
    yield from sentences(facts["fit"], facts["seats"])


def _season(season_id: int) -> Output:
    """Rate the season's present log, without storing the result."""
    from deadheat.league.service.rankings.ranking import ranking

    with _reading(season_id) as session:
        result = ranking(session, season_id)
    board = {"season_id": season_id, "log_sha256": result.log_sha256, "config": result.config, **result.standings}
    games = f"{counted(board['totals']['rated'], 'game')}, log {result.log_sha256[:16]}"
    unsaved = {"snapshot_id": None, "final": False, "created_at": None}
    shown = standings_table(TypeAdapter(Leaderboard).validate_python(board | unsaved))
    return Output(board, [shown, games, *sentences(board["fit"], board["seats"])])


def _checked(season_id: int, server: str | None) -> Output:
    """Check that the stored ranking follows from its configuration and the log, and that the dice are those to which
    the season committed. Exit with 1 if not.
    """
    if server is None:
        from deadheat.league.service.rankings.standings import dice_check, recount

        with _reading(season_id) as session:
            recounted, dice = recount(session, season_id), dice_check(session, season_id)
    else:
        with connect(server) as client, doubting():
            recounted, dice = recount_of(client, season_id), dice_of(client, season_id)
    ranking, log = (
        f"Ranking {recounted.snapshot_id} of season {season_id}",
        f"its log of {counted(recounted.games, 'game')}",
    )
    if recounted.snapshot_id is None:
        lines = [f"Season {season_id} has no ranking yet."]
    elif recounted.same:
        lines = [f"{ranking} follows from {log}.", f"log {recounted.log_sha256}"]
    else:
        lines = [f"{ranking} does NOT follow from {log}:", *(f"  {difference}" for difference in recounted.differences)]
        lines += ["The log has changed since, and a new ranking is due."] if recounted.refit_due else []
    answer = asdict(recounted) | {"dice": asdict(dice)}
    wrong = not recounted.same or dice.differences
    return Output(answer, [*lines, *(dice.differences or (dice.sentence,))], code=1 if wrong else 0)


@contextmanager
def _reading(season_id: int) -> Iterator[Session]:
    """Open a session on the deployment's database, which must contain this season."""
    from sqlalchemy.exc import DBAPIError

    from deadheat.league.config import Settings
    from deadheat.league.database import Database, is_there
    from deadheat.league.errors import NotFound
    from deadheat.league.service.seasons.seasons import season_info

    settings = Settings()
    if not (settings.model_fields_set & {"data_dir", "database_url"} or is_there(settings.database)):
        try:
            match = re.search(r'^DEADHEAT_DATABASE_URL=(["\']?)(.+)\1$', UNITS.read_text("utf-8"), re.MULTILINE)
        except OSError:  # there are no units that this user may read
            match = None
        settings = Settings(database_url=match[2]) if match else settings
    if not is_there(settings.database):
        fail(
            f"there is no database at {settings.database.removeprefix('sqlite:///')}: set DEADHEAT_DATA_DIR or "
            "DEADHEAT_DATABASE_URL as the server has it, in containers by `docker-compose exec control deadheat rate`, "
            "or ask a server with --check --server URL",
            USAGE,
        )
    try:
        with closing(Database(settings)) as database, database.reading() as session:
            season_info(session, season_id)
            yield session
    except NotFound as error:
        fail(str(error), USAGE)
    except DBAPIError as error:
        fail(f"the database cannot be read: {error.orig}", USAGE)


@says
def sprt(
    elo0: Annotated[float, typer.Option(help="Difference under H0.")],
    elo1: Annotated[float, typer.Option(help="Difference under H1.")],
    counts: Annotated[str, typer.Option(help="L,D,W of games, or LL,LD,DD,WD,WW of pairs (WL counts as DD).")],
    model: Annotated[
        Literal["normalized", "logistic"], typer.Option(help="What elo0 and elo1 measure.")
    ] = "normalized",
    alpha: Annotated[float, typer.Option(help="Share of wrong verdicts under H0.")] = 0.05,
    beta: Annotated[float, typer.Option(help="Share of wrong verdicts under H1.")] = 0.05,
) -> Output:
    """Say whether results so far accept H1, reject it, or call for more games."""
    from deadheat.league.sprt import Model, Terms, test  # numpy takes longer to import than a command takes to parse

    try:
        state = test(_numbers(counts), Terms(elo0, elo1, Model(model), alpha, beta))
    except ValueError as error:
        fail(str(error), USAGE)
    score = "" if state.score is None else f", score {100 * state.score:.2f} %"
    played = counted(state.games, "game")
    head = f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}] after {played}{score}"
    verdicts = {
        "accept": f"H1 is accepted: the difference is {elo1:g} rather than {elo0:g} Elo.",
        "reject": f"H1 is rejected: the difference is {elo0:g} rather than {elo1:g} Elo.",
        "continue": "Undecided: more games are needed.",
    }
    return Output(asdict(state), [head, verdicts[state.verdict.value]])


def bounds(text: str) -> dict[str, float] | None:
    """Return ELO0,ELO1 of an option --sprt by name; None for no text. End the command if they bound no test."""
    if not text:
        return None
    from deadheat.league.sprt import Terms

    try:
        elo0, elo1 = map(float, text.split(","))
        Terms(elo0, elo1)
    except ValueError as error:
        fail(f"--sprt takes two differences in Elo, such as 0,20: {error}", USAGE)
    return {"elo0": elo0, "elo1": elo1}


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ValueError("counts are whole numbers with commas between them, such as 10,20,30")
    return [int(part) for part in parts]
