"""An author's commands for unrated matches on the league's machines: request, show and stop them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from deadheat.cli.author.entering import find_bot, find_entry
from deadheat.cli.console import USAGE, cannot, command, fail, note, number_in
from deadheat.cli.output import Column, Columns, Output, as_object, tabled
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, asks
from deadheat.cli.server.follow import Patience, Timeout
from deadheat.cli.statistics.sprt import bounds
from deadheat.engine.figures import counted
from deadheat.league.records.bots import Bot
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.records.matches import Match
from deadheat.league.records.seasons import Season
from deadheat.league.states import ON_LADDER, ChallengeState

MOST_TESTED = 200
"""The most games of a test without --games, as at a promotion gate. A season may allow fewer."""

POLL_LOOKS = 4
"""The interval between two looks at a challenge, in half seconds. It is long because series take long."""

WAIT_SECONDS = 86_400

UNTIMED = frozenset({"most_of_a_limit", "host_ms"})
"""Figures of a tournament's bots that only transcripts contain: the report shows them."""

Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is over, and show its table.")]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the report: one HTML file with every game in the viewer.")
]


@asks
def challenge(
    client: Client,
    opponent: Annotated[str, typer.Argument(help="A bot that plays in the season: NAME, AUTHOR/NAME or number.")],
    bot: Annotated[str, typer.Option(help="Your bot; default: your only one of that game.")] = "",
    version: Annotated[int, typer.Option(min=0, help="Its version; 0: the newest ready one.")] = 0,
    opponent_version: Annotated[
        int, typer.Option(min=0, help="Version of the opponent, if it is yours; 0: its active one.")
    ] = 0,
    season: Annotated[int, typer.Option(min=0, help="The season's number; 0: the only running one.")] = 0,
    games: Annotated[int, typer.Option(min=0, help="Games to play; with --sprt, at most this many (default 200).")] = 0,
    sprt: Annotated[
        str, typer.Option(metavar="ELO0,ELO1", help="Stop when a sequential test of your bot decides.")
    ] = "",
    private: Annotated[bool, typer.Option("--private", help="Only your bot's owners and organisers see them.")] = False,
    wait: Wait = False,
    report: Report = None,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """Ask the league for unrated matches of your bot against another.

    Rated matches go first, but unrated ones that wait keep a share of the slots.
    """
    if not games and not sprt:
        fail("give the number of games with --games N, or let a test decide with --sprt ELO0,ELO1", USAGE)
    test = bounds(sprt)
    where, own = _where(client, season, bot)
    body: dict[str, Any] = {
        "season_id": where.id,
        "bot_id": own.id,
        "opponent_id": _opponent(client, where, opponent),
        "games": games or max(1, min(MOST_TESTED, where.unrated_games)),
        "version": version or None,
        "opponent_version": opponent_version or None,
        "test": test,
        "private": private,
    }
    made = client.challenge(body)
    if wait or report:
        return _shown(client, _over(client, made, timeout), report)
    return Output(made, _asked(made))


@asks
def challenges(
    client: Client,
    number: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Show this one with its table; default: a list.")
    ] = None,
    season: Annotated[int, typer.Option(min=0, help="Only those of this season; 0: any season.")] = 0,
    stop: Annotated[bool, typer.Option("--stop", help="Stop it. Matches in progress are played to the end.")] = False,
    wait: Wait = False,
    report: Report = None,
    limit: Most = 20,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """List the unrated matches that you asked for, newest first, or show the state of some."""
    if number is None:
        if stop or wait or report:
            fail("choose one by its number; `deadheat challenges` lists them", USAGE)
        return tabled(client.own_challenges(season=season, limit=limit), COLUMNS, "You have not asked for any.")
    found = client.stop_challenge(number) if stop else client.asked_challenge(number)
    return _shown(client, _over(client, found, timeout) if wait else found, report)


COLUMNS: Columns[AskedChallenge] = (
    Column("number", lambda one: one.id, right=True),
    Column("season", lambda one: one.season_id, right=True),
    Column("bot", lambda one: f"{one.bot} v{one.version}"),
    Column("opponent", lambda one: f"{one.opponent_author}/{one.opponent} v{one.opponent_version}"),
    Column("state", lambda one: f"{one.state}{', private' if one.private else ''}"),
    Column("W/D/L", lambda one: f"{one.wins}/{one.draws}/{one.losses}", right=True),
    Column("of", lambda one: one.games_limit, right=True),
)


def _where(client: Client, number: int, bot: str) -> tuple[Season, Bot]:
    """Return the season and the user's bot that the arguments name. An omitted argument must leave only one choice."""
    own = [one for one in client.bots() if one.versions]
    if bot:
        found = find_bot(client, bot, client.season(number).game if number else "")
        own = [one for one in own if one.id == found] or fail(f"{bot} has no version yet, or is not yours")
    games = {one.game for one in own}
    if number:
        season: Season = client.season(number)
    else:
        played = [one for one in client.seasons() if one.state in ON_LADDER and one.game in games]
        offered = [one for one in played if one.unrated_games] or played
        if not offered:
            fail("no season of your bots' games is running")
        if len(offered) > 1:
            several = ", ".join(f"{one.id} ({one.name})" for one in offered)
            fail(f"choose one with --season; several are running: {several}", USAGE)
        (season,) = offered
    fitting = [one for one in own if one.game == season.game and not one.retired_at]
    if not fitting:
        fail(f"you have no bot of {season.game} with a version")
    if len(fitting) > 1:
        fail(f"choose one with --bot; you have several: {', '.join(one.name for one in fitting)}", USAGE)
    return season, fitting[0]


def _opponent(client: Client, season: Season, wanted: str) -> int:
    """Return the number of a bot in the season, or of one of the user's own bots outside it."""
    if (number := number_in(wanted)) is not None:
        return number
    for one in client.bots():
        if one.game == season.game and one.name.lower() == wanted.lower() and not one.retired_at:
            in_it = {entry.bot_id for entry in client.entries(season.id)}
            if one.id not in in_it:
                return one.id
    return find_entry(client, season.id, wanted).bot_id


def _over(client: Client, found: AskedChallenge, timeout: int) -> AskedChallenge:
    """Wait until the challenge is over and its last series is played, and return it. Report progress meanwhile."""
    patience = Patience(timeout, f"challenge {found.id} is not over")
    told = ""
    while True:
        if _progress(found) != told:
            told = _progress(found)
            note(told, f"challenge {found.id}")
        if found.state != ChallengeState.RUNNING:
            return found
        patience.pause(POLL_LOOKS)
        found = client.asked_challenge(found.id)


def _progress(found: AskedChallenge) -> str:
    played = found.wins + found.draws + found.losses
    bound = "at most " if found.elo0 is not None else ""
    llr = "" if found.llr is None else f", LLR {found.llr:.2f} in [{found.lower:.2f}, {found.upper:.2f}]"
    told = f"{played} of {bound}{counted(found.games_limit, 'game')}, {found.wins}/{found.draws}/{found.losses}{llr}"
    return f"{told}. {found.waits}" if found.waits else told


def _sides(found: AskedChallenge) -> str:
    other = f"{found.opponent_author}/{found.opponent} v{found.opponent_version}"
    return f"{found.bot} v{found.version} against {other}"


def _asked(made: AskedChallenge) -> Iterator[RenderableType]:
    bound = f"at most {made.games_limit}" if made.elo0 is not None else f"{made.games_limit}"
    private = ", private" if made.private else ""
    yield f"Challenge {made.id}: {_sides(made)}, {bound} unrated games in {made.season}{private}."
    yield f"{made.waits} See `{command('challenges', str(made.id))}`.".strip()


def _shown(client: Client, found: AskedChallenge, report: Path | None) -> Output:
    """Show a challenge like a tournament, and write its report if requested."""
    from deadheat.cli.tournament.of_league import lines, standings_of, write_report  # they import the ratings' numpy
    from deadheat.cli.tournament.standings import summary

    matches: list[Match] = list(client.challenge_matches(found.id))
    standings = standings_of(found, matches)
    if report is not None:
        try:
            note(f"Report: {write_report(found, matches, client.transcript, report)}")
        except OSError as error:
            cannot(f"write {report}", error)

    def text() -> Iterator[RenderableType]:
        yield f"Challenge {found.id}: {_sides(found)}, in {found.season}{', private' if found.private else ''}"
        yield f"{_progress(found)}; {found.state}. {found.reason}".rstrip()
        yield from lines(found, standings)

    bots = summary(standings, [])["bots"] if standings.games else []
    told = [{name: value for name, value in bot.items() if name not in UNTIMED} for bot in bots]
    return Output(dict(as_object(found)) | {"bots": told}, text())
