"""`deadheat contest`: what bots play against each other beside the ladder, of every kind; and its former commands."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from deadheat.cli.author.bots import find_bot, find_entry
from deadheat.cli.console import USAGE, cannot, command, fail, note, number_in
from deadheat.cli.output import Column, Columns, Output, as_object, commands, table, tabled
from deadheat.cli.rate import bounds
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, asks, visits
from deadheat.cli.server.follow import Patience, Timeout
from deadheat.engine.figures import counted
from deadheat.league.pairing.figures import CHOICE, NEWEST, Figure
from deadheat.league.pairing.formats import USUAL, EvaluationFormat
from deadheat.league.records.bots import Bot
from deadheat.league.records.contests import (
    BracketTie,
    Contest,
    ContestDetail,
    Evaluation,
    EvaluationDetail,
    EvaluationPairing,
    EvaluationSeat,
    EvaluationStanding,
)
from deadheat.league.records.entries import PanelOpponent
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
Own = Annotated[str, typer.Option(help="Your bot; default: your only one of that game.")]
OwnVersion = Annotated[int, typer.Option(min=0, help="Its version; 0: the newest ready one.")]
OtherVersion = Annotated[int, typer.Option(min=0, help="Version of the opponent, if it is yours; 0: its active one.")]
Games = Annotated[int, typer.Option(min=0, help="Matches of each pair; with --sprt, at most this many (default 200).")]
Sprt = Annotated[str, typer.Option(metavar="ELO0,ELO1", help="Stop when a sequential test of your bot decides.")]
Private = Annotated[bool, typer.Option("--private", help="Only your bot's owners and organisers see them.")]
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
    rows = client.contests(season, kind=kind, limit=limit) if season else client.own_contests(kind=kind, limit=limit)
    return tabled(rows, LIST, "There are none yet.")


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
        return _round(client.contest_round(number, rnd))
    contest = client.contest(number)
    return _shown(client, _over(client, contest, timeout) if wait else contest, report)


@asked()
def start(
    client: Client,
    opponents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="OPPONENT...",
            help="Bots to challenge: NAME, AUTHOR/NAME, number, or `top:8`, the best 8 but yours; none: an evaluation.",
        ),
    ] = None,
    bot: Own = "",
    version: OwnVersion = 0,
    opponent_version: OtherVersion = 0,
    season: InSeason = 0,
    games: Games = 0,
    sprt: Sprt = "",
    private: Private = False,
    wait: Wait = False,
    report: Report = None,
    rounds: Annotated[int, typer.Option(min=0, max=MOST_ROUNDS, help="Of a Swiss; 0: a round robin.")] = 0,
    matches: Annotated[int, typer.Option(min=1, max=MOST_MATCHES, help="Of each pair in a round.")] = 2,
    name: Annotated[str, typer.Option(help="The evaluation's name.")] = "By hand",
    counts: Annotated[bool, typer.Option("--counts", help="Its matches count in the ranking, too.")] = False,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """Challenge other bots to unrated matches; or, as an organiser, begin an evaluation of a season now.

    Rated matches go first, but unrated ones that wait keep a share of the slots.
    """
    if not opponents:
        if not season:
            fail("name the bot to challenge, or give --season to begin an evaluation", USAGE)
        return evaluation(client, season, rounds, matches, name, counts)
    return _ask(client, opponents, bot, version, opponent_version, season, games, sprt, private, wait, report, timeout)


def _ask(
    client: Client,
    opponents: Sequence[str],
    bot: str,
    version: int,
    opponent_version: int,
    season: int,
    games: int,
    sprt: str,
    private: bool,
    wait: bool,
    report: Path | None,
    timeout: int,
) -> Output:
    if not games and not sprt:
        fail("give the number of games with --games N, or let a test decide with --sprt ELO0,ELO1", USAGE)
    test = bounds(sprt)
    where, own = _where(client, season, bot)
    top = [number for wanted in opponents if (number := _top(wanted)) is not None]
    named = [_opponent(client, where, wanted) for wanted in opponents if _top(wanted) is None]
    against: dict[str, Any] = {"opponent_id": named[0] if named else None}
    against |= {"opponent_ids": named[1:]} if named[1:] else {}
    against |= {"top": max(top)} if top else {}
    number = len(named) + max(top, default=0)
    least = max(1, min(2, where.unrated_games))  # a test of pairs needs two; and a ranking may have fewer than the top
    body: dict[str, Any] = {
        "season_id": where.id,
        "bot_id": own.id,
        **against,
        "games": games or max(least, min(MOST_TESTED, where.unrated_games // number)),
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
def challenge(
    client: Client,
    opponent: Annotated[str, typer.Argument(help="NAME, AUTHOR/NAME or number.")],
    bot: Own = "",
    version: OwnVersion = 0,
    opponent_version: OtherVersion = 0,
    season: InSeason = 0,
    games: Games = 0,
    sprt: Sprt = "",
    private: Private = False,
    wait: Wait = False,
    report: Report = None,
    timeout: Timeout = WAIT_SECONDS,
) -> Output:
    """Challenge another bot to unrated matches."""
    return _ask(client, [opponent], bot, version, opponent_version, season, games, sprt, private, wait, report, timeout)


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
        contests = client.own_contests(kind=ContestKind.REQUEST, season=season, limit=limit)
        numbers: Column[Contest] = Column("number", lambda contest: contest.known_as, right=True)
        shown = tabled(contests, (numbers, *LIST[1:]), "You have not asked for any.")
        return Output((_with_former(contest) | {"id": contest.known_as} for contest in contests), shown.text)
    there = client.contest(number, ContestKind.REQUEST)
    there = client.cancel_contest(there.id) if stop else there
    return _shown(client, _over(client, there, timeout) if wait else there, report, id=there.known_as)


@visits
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
        return tabled(client.evaluations(season, limit=limit), EVALUATIONS, "There are none yet.")
    if rnd:
        return _round(client.evaluation_round(number, rnd))
    shown = client.evaluation(number)
    return Output(shown, [_summary(shown), *_standings(shown)])


# How they are shown -------------------------------------------------------------------------------------------------


def _shown(client: Client, contest: ContestDetail, report: Path | None = None, **former: Any) -> Output:
    """Show a contest, in JSON with the `former` fields, too, and write a challenge's report if requested."""
    if report is not None:
        from deadheat.cli.tournament.report import write_report  # it imports the ratings' numpy

        if len(contest.versions) < 2:
            fail("there is a report of challenges, gates and panels only", USAGE)
        try:
            note(f"Report: {write_report(contest, [*client.contest_matches(contest.id)], client.transcript, report)}")
        except OSError as error:
            cannot(f"write {report}", error)
    return Output(_with_former(contest) | former, _lines(contest))


def _round(pairings: Iterable[EvaluationPairing]) -> Output:
    return tabled(pairings, PAIRINGS, "This round has not been drawn yet.")


def _lines(contest: ContestDetail) -> Iterator[RenderableType]:
    yield from _head(contest)
    if not contest.versions:
        yield from _standings(contest)
        return
    more = (LLR, OUTCOME) if contest.elo0 is not None else (OUTCOME,)
    each = contest.kind == ContestKind.REQUEST and len(contest.opponents) > 1
    yield table(contest.opponents, (*OPPONENTS, *more) if each else OPPONENTS)
    own, elo0 = contest.versions[0].bot, contest.elo0
    llr, lower, upper = contest.llr or 0.0, contest.lower or 0.0, contest.upper or 0.0
    elo1 = None if lower < llr < upper else contest.elo1  # else without a verdict
    if contest.state == ContestState.PASSED and elo1 is not None:
        yield f"accepted: {own} is stronger by {elo1:g} normalised Elo or more (rather than by {elo0:g})"
    if contest.state == ContestState.FAILED and elo1 is not None:
        yield f"rejected: {own} is stronger by {elo0:g} normalised Elo or less (rather than by {elo1:g})"
    if contest.elo is not None and contest.low is not None:
        what = "Performance" if contest.kind == ContestKind.PANEL else "Difference"
        yield f"{what} by these matches alone: {contest.elo:.0f} ± {contest.elo - contest.low:.0f} Elo."


def _standings(contest: ContestDetail | EvaluationDetail) -> Iterator[RenderableType]:
    if contest.tie_breaks is not None:
        figures: Iterable[Figure] = [CHOICE[name] for name in contest.tie_breaks if name in CHOICE]
    else:  # none if the server follows rules unknown to this command
        figures = USUAL.get(contest.format, ()) if contest.format and contest.rules <= NEWEST else ()
    yield table(contest.standings, (*PLACES, *map(_column, figures), SEED))
    if contest.bracket:
        yield table(contest.bracket, BRACKET)


def _head(contest: Contest) -> Iterator[str]:
    if not contest.versions:
        yield _summary(contest)
        return
    private = ", private" if contest.private else ""
    against = ", ".join(f"{other.author}/{other.bot} v{other.version}" for other in contest.versions[1:])
    own, season = contest.versions[0], contest.season
    yield f"Contest {contest.id} ({_kind(contest)}{private}): {own.bot} v{own.version} against {against}, in {season}"
    yield f"{_progress(contest)}; {contest.state}. {contest.reason or contest.waits}".rstrip()


def _summary(contest: Contest | Evaluation) -> str:
    number = "" if contest.stage else f", number {contest.number}"
    head = f"{contest.name}{number}: {contest.state}, round {_rounds(contest, ' of ')}."
    return f"{head} {contest.reason}".strip()


def _progress(contest: Contest) -> str:
    limit = counted(contest.matches * (len(contest.versions) - 1), "match", "matches")
    bound = "at most " if contest.elo0 is not None else ""
    llr = "" if contest.llr is None else f", LLR {contest.llr:.2f} in [{contest.lower:.2f}, {contest.upper:.2f}]"
    return f"{contest.wins + contest.draws + contest.losses} of {bound}{limit}, {_score(contest)}{llr}"


def _score(record: Contest | PanelOpponent) -> str:
    return f"{record.wins}/{record.draws}/{record.losses}"


def _over(client: Client, contest: ContestDetail, timeout: int) -> ContestDetail:
    """Wait until the contest is over and its last series is played, and return it. Report progress meanwhile."""
    patience = Patience(timeout, f"contest {contest.id} is not over")
    last = ""
    while True:
        now = " ".join(_head(contest)) if not contest.versions else f"{_progress(contest)}. {contest.waits}".strip()
        if now != last:
            note(now, f"contest {contest.id}")
            last = now
        if contest.state != ContestState.RUNNING:
            return contest
        patience.pause(POLL_LOOKS)
        contest = client.contest(contest.id)


def _with_former(contest: Contest) -> dict[str, Any]:
    """Return a contest as JSON; a challenge with what earlier releases called its fields, too."""
    answer = dict(as_object(contest))
    if contest.kind != ContestKind.REQUEST or len(contest.versions) != 2:
        return answer
    own, other = answer["versions"]
    sides = {name: own[name] for name in ("bot_id", "bot", "version", "version_id")} | {
        f"opponent_{name}": other[name] for name in ("author", "version", "version_id")
    }
    answer |= sides | {"opponent_id": other["bot_id"], "opponent": other["bot"]}
    score = {"wins": contest.wins, "draws": contest.draws, "losses": contest.losses}
    turned = {"wins": contest.losses, "draws": contest.draws, "losses": contest.wins}
    bots = [{"bot": own["bot"], **score}, {"bot": other["bot"], **turned}]
    return answer | {"games_limit": contest.matches, "games_planned": contest.planned, "bots": bots}


def _kind(contest: Contest) -> str:
    return {"request": "challenge", "gate": "promotion gate"}.get(contest.kind, contest.kind)


def _where(client: Client, number: int, bot: str) -> tuple[Season, Bot]:
    """Return the season and the user's bot that the arguments name. An omitted argument must leave only one choice."""
    own = [mine for mine in client.bots() if mine.versions]
    if bot:
        bot_id = find_bot(client, bot, client.season(number).game if number else "")
        own = [mine for mine in own if mine.id == bot_id] or fail(f"{bot} has no version yet, or is not yours")
    games = {mine.game for mine in own}
    if number:
        season: Season = client.season(number)
    else:
        played = [season for season in client.seasons() if season.state in ON_LADDER and season.game in games]
        offered = [season for season in played if season.unrated_games] or played
        if not offered:
            fail("no season of your bots' games is running")
        if len(offered) > 1:
            several = ", ".join(f"{season.id} ({season.name})" for season in offered)
            fail(f"choose one with --season; several are running: {several}", USAGE)
        (season,) = offered
    fitting = [mine for mine in own if mine.game == season.game and not mine.retired_at]
    if not fitting:
        fail(f"you have no bot of {season.game} with a version")
    if len(fitting) > 1:
        fail(f"choose one with --bot; you have several: {', '.join(mine.name for mine in fitting)}", USAGE)
    return season, fitting[0]


def _top(wanted: str) -> int | None:
    """Return the number in a word like `top:8`; None if the word names a bot."""
    word, _, number = wanted.partition(":")
    if word != "top" or not number:
        return None
    return number_in(number) or fail(f"{wanted} is not like top:8, the best 8 of the newest ranking", USAGE)


def _opponent(client: Client, season: Season, wanted: str) -> int:
    """Return the number of a bot in the season, or of one of the user's own bots outside it."""
    if (number := number_in(wanted)) is not None:
        return number
    for bot in client.bots():
        if bot.game == season.game and bot.name.lower() == wanted.lower() and not bot.retired_at:
            in_it = {entry.bot_id for entry in client.entries(season.id)}
            if bot.id not in in_it:
                return bot.id
    return find_entry(client, season.id, wanted).bot_id


def _column(figure: Figure) -> Column[EvaluationStanding]:
    return Column(figure.short, lambda standing: f"{getattr(standing, figure.name):g}", right=True)


def _seat(seat: EvaluationSeat) -> str:
    return f"{seat.bot} v{seat.version}"


def _tie(tie: BracketTie) -> str:
    other = _seat(tie.second) if tie.second else "bye" if tie.is_bye else "?"
    return " - ".join([_seat(tie.first) if tie.first else "?", other, *map(_seat, tie.seats[2:])])


def _rounds(contest: Contest | Evaluation, of: str) -> str:
    """Return the round out of all rounds, and the number of further ones between two bots at the cut."""
    more = contest.round - contest.rounds
    return f"{min(contest.round, contest.rounds)}{of}{contest.rounds}" + (f" + {more}" if more > 0 else "")


LIST: Columns[Contest] = (
    Column("contest", lambda contest: contest.id, right=True),
    Column("kind", _kind, whole=True),
    Column("name", lambda contest: contest.title),
    Column("bots", lambda contest: contest.players, right=True),
    Column("result", lambda contest: _score(contest) if contest.versions else _rounds(contest, "/"), right=True),
    Column("state", lambda contest: f"{contest.state}{', private' if contest.private else ''}", whole=True),
    Column("since", lambda contest: f"{contest.due_at or contest.created_at:%m-%d %H:%M}", whole=True),
)

EVALUATIONS: Columns[Evaluation] = (
    Column("evaluation", lambda contest: contest.id, right=True),
    Column("name", lambda contest: f"{contest.name} {contest.number}"),
    Column("format", lambda contest: contest.format, whole=True),
    Column("bots", lambda contest: contest.players, right=True),
    Column("rounds", lambda contest: _rounds(contest, "/"), right=True),
    Column("state", lambda contest: contest.state, whole=True),
    Column("due", lambda contest: f"{contest.due_at:%Y-%m-%d %H:%M}", whole=True),
)

OPPONENTS: Columns[PanelOpponent] = (
    Column("opponent", lambda opponent: f"{opponent.author}/{opponent.bot} v{opponent.version}"),
    Column("points", lambda opponent: f"{opponent.points:g}", right=True),
    Column("W/D/L", _score, right=True),
    Column("faults", lambda opponent: opponent.faults, right=True),
)

LLR: Column[PanelOpponent] = Column("LLR", lambda one: "" if one.llr is None else f"{one.llr:.2f}", right=True)
OUTCOME: Column[PanelOpponent] = Column("outcome", lambda one: one.outcome or "in progress", whole=True)

PLACES: Columns[EvaluationStanding] = (
    Column("#", lambda standing: standing.place, right=True),
    Column("bot", lambda standing: f"{standing.bot} v{standing.version}"),
    Column("author", lambda standing: standing.author),
    Column("points", lambda standing: f"{standing.points:g}", right=True),
)

SEED: Column[EvaluationStanding] = Column("seed", lambda standing: standing.seed, right=True)

PAIRINGS: Columns[EvaluationPairing] = (
    Column("board", lambda pair: pair.board, right=True),
    Column("bots", lambda pair: " - ".join([*map(_seat, pair.seats), *(["bye"] if pair.second is None else [])])),
    Column("points", lambda pair: " : ".join(f"{taken:g}" for taken in pair.points), right=True),
    Column("", lambda pair: "" if pair.settled else "in progress"),
    Column("matches", lambda pair: ", ".join(map(str, pair.match_ids))),
)

BRACKET: Columns[BracketTie] = (
    Column("round", lambda tie: tie.round, right=True),
    Column("slot", lambda tie: tie.slot, right=True),
    Column("bots", _tie),
    Column("points", lambda tie: " : ".join(f"{taken:g}" for taken in tie.points), right=True),
    Column("advances", lambda tie: ", ".join(_seat(seat) for seat in tie.seats if seat.version_id in tie.advancing)),
)
