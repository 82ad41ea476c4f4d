"""Rate a log of results: a file's, or a season's of this deployment, whose ranking can be recomputed and compared."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from cli.author.leaderboard import standings_table
from cli.console import fail, out, plain, short
from cli.server.api_models import Leaderboard
from cli.server.client import visit
from cli.statistics.recount import dice_of, recount_of
from engine.figures import counted
from league.beside import sentences, tally

if TYPE_CHECKING:
    from sqlmodel import Session

    from league.ratings import Log, RatingConfig, RatingTable
    from league.verification.comparison import Recount
    from league.verification.fairness import DiceCheck

MOST_SD_ELO = 10_000.0
NAME_WIDTH = 28

File = Annotated[Path | None, typer.Argument(help="Games, one JSON object per line; - is standard input.")]
PriorSd = Annotated[
    str, typer.Option(metavar="X|none", help="For a file: deviation of newcomers' strengths around 1500, in Elo.")
]


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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Rate a log of games, each a line {"players": [...], "ranks": [...]}; matches that share dice name a "group".

    With --season --check the newest ranking and, once the season is over, all seeds are made again: on the server's
    machine from its database, anywhere from what a --server exports; exit code 1 if anything differs.
    """
    if (file is None) == (season is None):
        fail("give either a file or --season", 2)
    if check and season is None:
        fail("--check needs --season", 2)
    if server is not None and not check:
        fail("--server works only with --check", 2)
    if file is not None:
        _show(_rated(_log(file), _config(prior_sd, ranks)), as_json)
    elif season is not None and check:
        _check(season, server, as_json)
    elif season is not None:
        _show_season(season, as_json)


def _config(prior_sd: str, ranks: str) -> RatingConfig:
    from league.ratings import RatingConfig
    from league.states import Ranks

    if prior_sd.lower() == "none":
        return RatingConfig(prior_sd_elo=None, ranks=Ranks(ranks))
    try:
        sd_elo = float(prior_sd)
    except ValueError:
        sd_elo = math.nan
    if not 0 < sd_elo <= MOST_SD_ELO:
        fail(f"--prior-sd is a number above 0 and at most {MOST_SD_ELO:g}, or none", 2)
    return RatingConfig(prior_sd_elo=sd_elo, ranks=Ranks(ranks))


def _log(file: Path) -> Log:
    from league.ratings.jsonl import BadLine, read

    try:
        if str(file) == "-":
            return read(sys.stdin.buffer)
        with file.open("rb") as lines:
            return read(lines)
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", 2)
    except BadLine as error:
        fail(f"{file}, {error}", 2)


def _rated(log: Log, config: RatingConfig) -> RatingTable:
    from league.ratings import NoRating
    from league.ratings import rate as rated

    try:
        return rated(log, config)
    except NoRating:
        fail(
            "without a prior these games determine no ratings: some players never lost to the rest, or never met them; "
            "give --prior-sd a number",
            2,
        )


def _show(table: RatingTable, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report(table)))
        return
    if not table.entries:
        out.print("There are no games.")
        return
    out.print(_standings(table))
    for sentence in _beside(table):
        out.print(sentence, soft_wrap=True)


def report(table: RatingTable) -> dict[str, Any]:
    """A table as JSON has it."""
    from league.ratings.quality import PAIR_TABLE_PLAYERS

    entries = []
    for entry in table.entries:
        place = entry.place
        assert place is not None, "everybody is ranked"
        entries.append(
            {
                "player": entry.player,
                "elo": entry.elo,
                "se": entry.se,
                "ci95": [entry.low, entry.high],
                "rank": place.rank,
                "rank_low": place.low,
                "rank_high": place.high,
                "gap_elo": place.gap_elo,
                "gap_se": place.gap_se,
                "plackett_luce": entry.plackett_luce,
                "games": entry.games,
                "wins": entry.wins,
                "draws": entry.draws,
                "losses": entry.losses,
            }
        )
    first = [entry.player for entry in table.entries[:PAIR_TABLE_PLAYERS]]
    return {
        "entries": entries,
        "games": table.log.games,
        "log_sha256": table.log.sha256,
        "config": table.config.as_json(),
        "fit": asdict(table.fit()),
        "seats": [asdict(effect) for effect in table.seats()],
        "pairs": {"players": first, **asdict(table.pairs(first))},
    }


def _standings(table: RatingTable) -> Table:
    second = any(entry.plackett_luce is not None for entry in table.entries)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("#", "places", "player", "rating", "games", "W / D / L", *(["PL"] if second else [])):
        shown.add_column(heading, justify="left" if heading == "player" else "right", no_wrap=True)
    ranks = [entry.place.rank for entry in table.entries if entry.place]
    for entry in table.entries:
        place = entry.place
        assert place is not None, "everybody is ranked"
        shown.add_row(
            f"{place.rank}{'=' if ranks.count(place.rank) > 1 else ''}",
            f"{place.low}-{place.high}" if place.low < place.high else f"{place.low}",
            plain(short(entry.player, NAME_WIDTH)),
            f"{entry.elo:.0f} ± {(entry.high - entry.low) / 2:.0f}",
            str(entry.games),
            f"{entry.wins} / {entry.draws} / {entry.losses}",
            *([f"{entry.plackett_luce:.0f}"] if second else []),
        )
    return shown


def _beside(table: RatingTable) -> list[str]:
    beside = sentences(asdict(table.fit()), [asdict(effect) for effect in table.seats()])
    tallied = tally(table.config.as_json(), (entry.plackett_luce for entry in table.entries))
    return [
        *([tallied] if tallied else []),
        f"{counted(table.log.games, 'game')}, log {table.log.sha256[:16]}",
        *beside,
    ]


def _show_season(season_id: int, as_json: bool) -> None:
    """What the season's log gives now, computed here and not stored."""
    from league.service.rankings.ranking import ranking

    with _reading(season_id) as session:
        found = ranking(session, season_id)
    board = {"season_id": season_id, "log_sha256": found.log_sha256, "config": found.config, **found.standings}
    if as_json:
        print(json.dumps(board))
        return
    out.print(standings_table(Leaderboard.model_validate(board)))
    out.print(f"{counted(board['totals']['rated'], 'game')}, log {found.log_sha256[:16]}")
    for sentence in sentences(board["fit"], board["seats"]):
        out.print(sentence, soft_wrap=True)


def _check(season_id: int, server: str | None, as_json: bool) -> None:
    """Whether the stored ranking is what its configuration makes of the log, and the dice are what the season had
    committed to; ends with 1 if anything is not.
    """
    found, dice = _of_database(season_id) if server is None else _of_server(server, season_id)
    games = counted(found.games, "game")
    if as_json:
        print(json.dumps(asdict(found) | {"dice": asdict(dice)}))
    elif found.snapshot_id is None:
        out.print(f"Season {season_id} has no ranking yet.")
    elif found.same:
        out.print(f"Ranking {found.snapshot_id} of season {season_id} follows from its log of {games}.")
        out.print(f"log {found.log_sha256}", soft_wrap=True)
    else:
        out.print(f"Ranking {found.snapshot_id} of season {season_id} does NOT follow from its log of {games}:")
        for difference in found.differences:
            out.print(f"  {plain(difference)}", soft_wrap=True)
        if found.refit_due:
            out.print("The log has changed since, and a new ranking is due.")
    if not as_json:
        for sentence in dice.differences or (dice.sentence,):
            out.print(plain(sentence), soft_wrap=True)
    if not found.same or dice.differences:
        raise typer.Exit(1)


def _of_database(season_id: int) -> tuple[Recount, DiceCheck]:
    from league.service.rankings.recount import dice_check, recount

    with _reading(season_id) as session:
        return recount(session, season_id), dice_check(session, season_id)


def _of_server(server: str, season_id: int) -> tuple[Recount, DiceCheck]:
    with visit(server) as client:
        return recount_of(client, season_id), dice_of(client, season_id)


@contextmanager
def _reading(season_id: int) -> Iterator[Session]:
    """A session on the deployment's database in which there is that season."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import DBAPIError

    from league.config import Settings
    from league.database import Database
    from league.errors import NotFound
    from league.service.seasons.seasons import season_info

    settings = Settings()
    file = make_url(settings.database).database
    if settings.database.startswith("sqlite:") and not Path(file or "").is_file():
        fail(
            f"there is no database at {file}: set DEADHEAT_DATA_DIR or DEADHEAT_DATABASE_URL as the server has it, "
            "or ask a server with --check --server URL",
            2,
        )
    database = Database(settings)
    try:
        with database.reading() as session:
            season_info(session, season_id)
            yield session
    except NotFound as error:
        fail(str(error), 2)
    except DBAPIError as error:
        fail(f"the database cannot be read: {error.orig}", 2)
    finally:
        database.close()
