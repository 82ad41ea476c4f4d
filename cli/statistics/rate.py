"""Rates a log of results from a file or a season of this deployment, whose ranking can be recomputed and compared."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import TypeAdapter
from rich.console import RenderableType

from deadheat.cli.author.leaderboard import standings_table
from deadheat.cli.console import USAGE, cannot, fail, short
from deadheat.cli.output import Column, Columns, Output, places, says, table
from deadheat.cli.server.api_client import doubting
from deadheat.cli.server.client import visit
from deadheat.cli.statistics.recount import dice_of, recount_of
from deadheat.engine.figures import counted
from deadheat.league.records.rankings import Leaderboard, sentences, tally

if TYPE_CHECKING:
    from sqlmodel import Session

    from deadheat.league.config import Settings
    from deadheat.league.ratings import Log, Rating, RatingConfig, RatingTable

MOST_SD_ELO = 10_000.0
NAME_WIDTH = 28

UNITS = Path("/etc/deadheat/env")
"""The settings of a deployment as systemd units (docs/operators.md), which a shell does not have by itself."""

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
        rated = _rated(_log(file), _config(prior_sd, ranks))
        return Output(report(rated), _rating_lines(rated))
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


def _log(file: Path) -> Log:
    from deadheat.league.ratings.log import BadLine, read

    try:
        if str(file) == "-":
            return read(sys.stdin.buffer)
        with file.open("rb") as lines:
            return read(lines)
    except OSError as error:
        cannot(f"read {file}", error, USAGE)
    except BadLine as error:
        fail(f"{file}, {error}", USAGE)


def _rated(log: Log, config: RatingConfig) -> RatingTable:
    from deadheat.league.ratings import NoRating
    from deadheat.league.ratings import rate as rated

    try:
        return rated(log, config)
    except NoRating:
        fail(
            "without a prior these games determine no ratings: some players never lost to the rest, or never met them; "
            "give --prior-sd a number",
            USAGE,
        )


def report(table: RatingTable) -> dict[str, Any]:
    """Return a table of ratings as JSON."""
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
    found = report(rated)
    entries = found["entries"]
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
    if tallied := tally(found["config"], second):
        yield tallied
    yield f"{counted(found['games'], 'game')}, log {found['log_sha256'][:16]}"
    yield from sentences(found["fit"], found["seats"])


def _season(season_id: int) -> Output:
    """Rate the season's present log, without storing the result."""
    from deadheat.league.service.rankings.ranking import ranking

    with _reading(season_id) as session:
        found = ranking(session, season_id)
    board = {"season_id": season_id, "log_sha256": found.log_sha256, "config": found.config, **found.standings}
    games = f"{counted(board['totals']['rated'], 'game')}, log {found.log_sha256[:16]}"
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
            found, dice = recount(session, season_id), dice_check(session, season_id)
    else:
        with visit(server) as client, doubting():
            found, dice = recount_of(client, season_id), dice_of(client, season_id)
    ranking, log = f"Ranking {found.snapshot_id} of season {season_id}", f"its log of {counted(found.games, 'game')}"
    if found.snapshot_id is None:
        lines = [f"Season {season_id} has no ranking yet."]
    elif found.same:
        lines = [f"{ranking} follows from {log}.", f"log {found.log_sha256}"]
    else:
        lines = [f"{ranking} does NOT follow from {log}:", *(f"  {difference}" for difference in found.differences)]
        lines += ["The log has changed since, and a new ranking is due."] if found.refit_due else []
    answer = asdict(found) | {"dice": asdict(dice)}
    wrong = not found.same or dice.differences
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
        settings = _units() or settings
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


def _units() -> Settings | None:
    """Return settings with the database of this machine's units, or None if there are none that this user may read."""
    from deadheat.league.config import Settings

    try:
        found = re.search(r'^DEADHEAT_DATABASE_URL=(["\']?)(.+)\1$', UNITS.read_text("utf-8"), re.MULTILINE)
    except OSError:
        return None
    return Settings(database_url=found[2]) if found else None
