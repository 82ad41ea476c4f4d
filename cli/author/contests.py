"""`deadheat contest`: what bots play against each other beside the ladder, of every kind; and its former commands."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from deadheat.cli.author.bots import find_bot, find_entry
from deadheat.cli.console import USAGE, cannot, command, fail, note, number_in
from deadheat.cli.output import Column, Columns, Output, as_object, commands, table, tabled
from deadheat.cli.rate import bounds
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, asks
from deadheat.cli.server.follow import Patience, Timeout
from deadheat.engine.figures import counted
from deadheat.league.pairing.figures import CHOICE, NEWEST, Figure
from deadheat.league.pairing.formats import USUAL, EvaluationFormat
from deadheat.league.records.bots import Bot
from deadheat.league.records.contests import Contest, ContestDetail
from deadheat.league.records.entries import PanelOpponent
from deadheat.league.records.evaluations import BracketTie, EvaluationPairing, EvaluationSeat, EvaluationStanding
from deadheat.league.records.seasons import Season
from deadheat.league.states import ON_LADDER, ContestKind, ContestState
from deadheat.league.timetable import MOST_MATCHES, MOST_ROUNDS

MOST_TESTED = 200
"""The most matches of a test without --games, as at a promotion gate. A season may allow fewer."""

POLL_LOOKS = 4
"""The interval between two looks at a contest, in half seconds. It is long because series take long."""

WAIT_SECONDS = 86_400

Number = Annotated[int, typer.Argument(help="The contest's number.", min=1)]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is over, and show its results.")]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a challenge's report: one HTML file with every match.")
]
Round = Annotated[int, typer.Option("--round", min=0, help="Show this round's pairings instead.")]
InSeason = Annotated[int, typer.Option(min=0, help="The season's number; 0: the only running one.")]
OfSeason = Annotated[int, typer.Option(min=0, help="A season's contests; 0: those of your bots.")]

group = typer.Typer(no_args_is_help=True, help="Show, start and cancel contests: evaluations, challenges and others.")
asked = commands(group, asks)


@asked(name="list")
def list_contests(
    client: Client,
    season: OfSeason = 0,
    kind: Annotated[ContestKind | None, typer.Option(help="Only of this kind; `request` is a challenge.")] = None,
    limit: Most = 20,
) -> Output:
    """List a season's contests, or those of your bots, newest first."""
    found = client.contests(season, kind=kind, limit=limit) if season else client.own_contests(kind=kind, limit=limit)
    return tabled(found, LIST, "There are none yet.")


@asked()
def show(
    client: Client,
    number: Number,
    rnd: Round = 0,
    wait: Wait = False,
    report: Report = None,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """Show a contest's standings, or a round's pairings; or how a challenge, a gate or a panel is going."""
    if rnd:
        return _round(client, number, rnd)
    found = client.contest(number)
    return _shown(client, _over(client, found, timeout) if wait else found, report)


@asked()
def start(
    client: Client,
    opponent: Annotated[
        str, typer.Argument(help="The bot to challenge: NAME, AUTHOR/NAME or number; none: begin an evaluation.")
    ] = "",
    bot: Annotated[str, typer.Option(help="Your bot; default: your only one of that game.")] = "",
    version: Annotated[int, typer.Option(min=0, help="Its version; 0: the newest ready one.")] = 0,
    opponent_version: Annotated[
        int, typer.Option(min=0, help="Version of the opponent, if it is yours; 0: its active one.")
    ] = 0,
    season: InSeason = 0,
    games: Annotated[int, typer.Option(min=0, help="Matches; with --sprt, at most this many (default 200).")] = 0,
    sprt: Annotated[
        str, typer.Option(metavar="ELO0,ELO1", help="Stop when a sequential test of your bot decides.")
    ] = "",
    private: Annotated[bool, typer.Option("--private", help="Only your bot's owners and organisers see them.")] = False,
    wait: Wait = False,
    report: Report = None,
    rounds: Annotated[int, typer.Option(min=0, max=MOST_ROUNDS, help="Of a Swiss; 0: a round robin.")] = 0,
    matches: Annotated[int, typer.Option(min=1, max=MOST_MATCHES, help="Of each pair in a round.")] = 2,
    name: Annotated[str, typer.Option(help="The evaluation's name.")] = "By hand",
    counts: Annotated[bool, typer.Option("--counts", help="Its matches count in the ranking, too.")] = False,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """Challenge another bot to unrated matches; or, as an organiser, begin an evaluation of a season now.

    Rated matches go first, but unrated ones that wait keep a share of the slots.
    """
    if not opponent:
        if not season:
            fail("name the bot to challenge, or give --season to begin an evaluation", USAGE)
        return evaluation(client, season, rounds, matches, name, counts)
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
    made = client.contest(client.challenge(body).id)
    if wait or report:
        return _shown(client, _over(client, made, timeout), report)
    return Output(_with_former(made), [*_head(made), f"See `{command('contest', 'show', str(made.id))}`."])


def evaluation(client: Client, season: int, rounds: int, matches: int, name: str, counts: bool) -> Output:
    """Begin an evaluation now, whatever the timetable says."""
    format_ = EvaluationFormat.SWISS if rounds else EvaluationFormat.ROUND_ROBIN
    body = {"name": name, "format": format_, "rounds": rounds or None, "matches": matches, "counts": counts}
    made = client.begin_evaluation(season, body)
    return Output(made, f"Contest {made.id} of {counted(made.players, 'bot')} is {made.state}. {made.reason}".strip())


@asked()
def cancel(client: Client, number: Number) -> Output:
    """End a challenge of your bot or, as an organiser, an evaluation. Matches in progress are played to the end."""
    made = client.cancel_contest(number)
    return Output(_with_former(made), f"Contest {number} is {made.state}. {made.reason}".strip())


@asked()
def resume(client: Client, number: Number) -> Output:
    """Continue a cancelled evaluation. What was dropped with it is played, too."""
    return Output(client.resume_contest(number), f"Contest {number} goes on.")


# Commands of earlier releases ---------------------------------------------------------------------------------------


@asks
def challenges(
    client: Client,
    number: Annotated[int | None, typer.Argument(min=1)] = None,
    season: OfSeason = 0,
    stop: Annotated[bool, typer.Option("--stop")] = False,
    wait: Wait = False,
    report: Report = None,
    limit: Most = 20,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """List the unrated matches that you asked for, newest first, or show or stop some."""
    if number is None:
        if stop or wait or report:
            fail("choose one by its number; `deadheat contest list` lists them", USAGE)
        found = client.own_contests(kind=ContestKind.REQUEST, season=season, limit=limit)
        shown = tabled(found, LIST, "You have not asked for any.")
        return Output((_with_former(one) for one in found), shown.text)
    there = client.contest(number, ContestKind.REQUEST)
    there = client.cancel_contest(there.id) if stop else there
    return _shown(client, _over(client, there, timeout) if wait else there, report)


@asks
def evaluations(
    client: Client,
    season: OfSeason = 0,
    number: Annotated[int | None, typer.Argument(metavar="EVALUATION", min=1)] = None,
    rnd: Round = 0,
    limit: Most = 20,
) -> Output:
    """List a season's evaluations, newest first, or show the standings of one, or the pairings of a round."""
    if number is None:
        if not season:
            fail("give --season to list a season's evaluations, or the number of one", USAGE)
        return tabled(client.contests(season, limit=limit), LIST, "There are none yet.")
    return _round(client, number, rnd) if rnd else _shown(client, client.contest(number))


# How they are shown -------------------------------------------------------------------------------------------------


def _shown(client: Client, found: ContestDetail, report: Path | None = None) -> Output:
    """Show a contest, and write a challenge's report if requested."""
    if report is not None:
        from deadheat.cli.tournament.of_league import write_report  # it imports the ratings' numpy

        if len(found.versions) < 2:
            fail("there is a report of challenges, gates and panels only", USAGE)
        try:
            note(f"Report: {write_report(found, list(client.contest_matches(found.id)), client.transcript, report)}")
        except OSError as error:
            cannot(f"write {report}", error)
    return Output(_with_former(found), _lines(found))


def _round(client: Client, number: int, rnd: int) -> Output:
    return tabled(client.contest_round(number, rnd), PAIRINGS, "This round has not been drawn yet.")


def _lines(found: ContestDetail) -> Iterator[RenderableType]:
    yield from _head(found)
    if found.versions:
        yield table(found.opponents, OPPONENTS)
        yield from _verdict(found)
        return
    yield table(found.standings, (*PLACES, *_ties(found), SEED))
    if found.bracket:
        yield table(found.bracket, BRACKET)


def _head(found: Contest) -> Iterator[str]:
    if not found.versions:
        head = f"{found.name}, number {found.number}: {found.state}, round {_rounds(found, ' of ')}."
        yield f"{head} {found.reason}".strip()
        return
    private = ", private" if found.private else ""
    against = ", ".join(f"{one.author}/{one.bot} v{one.version}" for one in found.versions[1:])
    own = found.versions[0]
    yield f"Contest {found.id} ({_kind(found)}{private}): {own.bot} v{own.version} against {against}, in {found.season}"
    yield f"{_progress(found)}; {found.state}. {found.reason or found.waits}".rstrip()


def _progress(found: Contest) -> str:
    limit = counted(found.matches * (len(found.versions) - 1), "match", "matches")
    bound = "at most " if found.elo0 is not None else ""
    llr = "" if found.llr is None else f", LLR {found.llr:.2f} in [{found.lower:.2f}, {found.upper:.2f}]"
    score = f"{found.wins}/{found.draws}/{found.losses}"
    return f"{found.wins + found.draws + found.losses} of {bound}{limit}, {score}{llr}"


def _verdict(found: ContestDetail) -> Iterator[str]:
    """Yield the verdict of the test, and the performance by these matches alone."""
    own = found.versions[0].bot
    if found.state == ContestState.PASSED and found.elo1 is not None:
        yield f"accepted: {own} is stronger by {found.elo1:g} normalised Elo or more (rather than by {found.elo0:g})"
    if found.state == ContestState.FAILED and found.elo1 is not None:
        yield f"rejected: {own} is stronger by {found.elo0:g} normalised Elo or less (rather than by {found.elo1:g})"
    if found.elo is not None and found.low is not None:
        what = "Performance" if found.kind == ContestKind.PANEL else "Difference"
        yield f"{what} by these matches alone: {found.elo:.0f} ± {found.elo - found.low:.0f} Elo."


def _over(client: Client, found: ContestDetail, timeout: int) -> ContestDetail:
    """Wait until the contest is over and its last series is played, and return it. Report progress meanwhile."""
    patience = Patience(timeout, f"contest {found.id} is not over")
    last = ""
    while True:
        now = " ".join(_head(found)) if not found.versions else f"{_progress(found)}. {found.waits}".strip()
        if now != last:
            note(now, f"contest {found.id}")
            last = now
        if found.state != ContestState.RUNNING:
            return found
        patience.pause(POLL_LOOKS)
        found = client.contest(found.id)


def _with_former(found: Contest) -> dict[str, Any]:
    """Return a contest as JSON; a challenge with what earlier releases called its fields, too."""
    answer = dict(as_object(found))
    if found.kind != ContestKind.REQUEST or len(found.versions) != 2:
        return answer
    own, other = answer["versions"]
    sides = {name: own[name] for name in ("bot_id", "bot", "version", "version_id")} | {
        f"opponent_{name}": other[name] for name in ("author", "version", "version_id")
    }
    answer |= sides | {"opponent_id": other["bot_id"], "opponent": other["bot"]}
    score = {"wins": found.wins, "draws": found.draws, "losses": found.losses}
    turned = {"wins": found.losses, "draws": found.draws, "losses": found.wins}
    bots = [{"bot": own["bot"], **score}, {"bot": other["bot"], **turned}]
    return answer | {"games_limit": found.matches, "games_planned": found.planned, "bots": bots}


def _kind(found: Contest) -> str:
    return {"request": "challenge", "gate": "promotion gate"}.get(found.kind, found.kind)


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


def _ties(found: ContestDetail) -> Iterable[Column[EvaluationStanding]]:
    """Return the columns of the tie-breaks, or none if the server follows rules unknown to this command."""
    if found.tie_breaks is not None:
        return [_column(CHOICE[name]) for name in found.tie_breaks if name in CHOICE]
    return map(_column, USUAL.get(found.format, ()) if found.format and found.rules <= NEWEST else ())


def _column(figure: Figure) -> Column[EvaluationStanding]:
    return Column(figure.short, lambda one: f"{getattr(one, figure.name):g}", right=True)


def _seat(one: EvaluationSeat) -> str:
    return f"{one.bot} v{one.version}"


def _tie(one: BracketTie) -> str:
    other = _seat(one.second) if one.second else "bye" if one.is_bye else "?"
    return " - ".join([_seat(one.first) if one.first else "?", other, *map(_seat, one.seats[2:])])


def _advancing(one: BracketTie) -> str:
    return ", ".join(_seat(seat) for seat in one.seats if seat.version_id in one.advancing)


def _rounds(one: Contest, of: str) -> str:
    """Return the round out of all rounds, and the number of further ones between two bots at the cut."""
    more = one.round - one.rounds
    return f"{min(one.round, one.rounds)}{of}{one.rounds}" + (f" + {more}" if more > 0 else "")


LIST: Columns[Contest] = (
    Column("contest", lambda one: one.id, right=True),
    Column("kind", _kind, whole=True),
    Column("name", lambda one: one.title),
    Column("bots", lambda one: one.players, right=True),
    Column(
        "result",
        lambda one: f"{one.wins}/{one.draws}/{one.losses}" if one.versions else _rounds(one, "/"),
        right=True,
    ),
    Column("state", lambda one: f"{one.state}{', private' if one.private else ''}", whole=True),
    Column("since", lambda one: f"{one.due_at or one.created_at:%Y-%m-%d %H:%M}", whole=True),
)

OPPONENTS: Columns[PanelOpponent] = (
    Column("opponent", lambda one: f"{one.author}/{one.bot} v{one.version}"),
    Column("points", lambda one: f"{one.points:g}", right=True),
    Column("W/D/L", lambda one: f"{one.wins}/{one.draws}/{one.losses}", right=True),
    Column("faults", lambda one: one.faults, right=True),
)

PLACES: Columns[EvaluationStanding] = (
    Column("#", lambda one: one.place, right=True),
    Column("bot", lambda one: f"{one.bot} v{one.version}"),
    Column("author", lambda one: one.author),
    Column("points", lambda one: f"{one.points:g}", right=True),
)

SEED: Column[EvaluationStanding] = Column("seed", lambda one: one.seed, right=True)

PAIRINGS: Columns[EvaluationPairing] = (
    Column("board", lambda one: one.board, right=True),
    Column("bots", lambda one: " - ".join([*map(_seat, one.seats), *(["bye"] if one.second is None else [])])),
    Column("points", lambda one: " : ".join(f"{taken:g}" for taken in one.points), right=True),
    Column("", lambda one: "" if one.settled else "in progress"),
    Column("matches", lambda one: ", ".join(map(str, one.match_ids))),
)

BRACKET: Columns[BracketTie] = (
    Column("round", lambda one: one.round, right=True),
    Column("slot", lambda one: one.slot, right=True),
    Column("bots", _tie),
    Column("points", lambda one: " : ".join(f"{taken:g}" for taken in one.points), right=True),
    Column("advances", _advancing),
)
