"""`deadheat organise`: an organiser's rulings on results, entries, held matches and appeals, and announcements; and
`deadheat workers`, the machines that play.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from deadheat.cli.author.bots import find_entry
from deadheat.cli.author.matches import tried
from deadheat.cli.console import harmless, quoted, short
from deadheat.cli.output import Column, Columns, Output, commands, listed, table
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks
from deadheat.cli.server.follow import result
from deadheat.engine.figures import counted
from deadheat.league.records.hosts import SHOWN_DIGITS, GameHere, Worker, Workers
from deadheat.league.records.matches import MatchDetail
from deadheat.league.records.rulings import Appeal
from deadheat.league.states import AppealState
from deadheat.league.words import Remedy

Match = Annotated[int, typer.Argument(help="The match's number.", min=1)]
Season = Annotated[int, typer.Argument(help="The season's number.", min=1)]
Bot = Annotated[str, typer.Argument(metavar="BOT", help="The bot, by name (NAME, AUTHOR/NAME) or number.")]
Why = Annotated[str, typer.Option("--reason", help="The reason, public in the audit log.")]

REPLAYS: Mapping[bool | None, str | tuple[str, str]] = {
    True: "it replays",
    False: ("it does not replay", "red"),
    None: "it could not be re-simulated",
}

group = typer.Typer(no_args_is_help=True, help="Rule on results, entries and appeals; announce (for organisers).")
asked = commands(group, asks)


@asked()
def void(client: Client, match: Match, reason: Why) -> Output:
    """Take a finished match out of the log of results and update the ranking."""
    made = client.rule_on_match(match, "void", reason)
    if made.changed:
        return Output(made, f"Match {match} no longer counts. `restore` reverses this.")
    return Output(made, f"Match {match} was already void; nothing changed. `deadheat matches {match}` says why.")


@asked()
def restore(client: Client, match: Match, reason: Why) -> Output:
    """Let a voided match count again."""
    made = client.rule_on_match(match, "restore", reason)
    return Output(made, f"Match {match} {'counts again' if made.changed else 'was not voided; nothing changed'}.")


@asked()
def rejudge(client: Client, match: Match, reason: Why) -> Output:
    """Replay a match with the same versions and seats but different dice: void a played one, or retry a held one."""
    made = client.rejudge(match, reason)
    return Output(made, f"Match {match} does not count; match {made.match_id} is played instead.")


@asked()
def held(client: Client) -> Output:
    """List held matches, which you must decide: `rejudge`, `decide` or `leave`."""

    def lines(match: MatchDetail) -> Iterator[RenderableType]:
        yield Text.assemble((f"Match {match.id}", "bold"), f" of season {match.season_id}: ", harmless(result(match)))
        yield from (f"  {tried(attempt)}" for attempt in match.attempts)

    return listed(client.held(), lines, "No match.")


@asked()
def decide(
    client: Client,
    match: Match,
    reason: Why,
    seat: Annotated[int, typer.Option(help="The seat that loses, counted from 1.", min=1)],
) -> Output:
    """Decide that a seat loses a held match, as if by forfeit."""
    client.decide(match, seat - 1, reason)
    return Output({"match_id": match, "seat": seat - 1}, f"Seat {seat} loses match {match}.")


@asked()
def leave(client: Client, match: Match, reason: Why) -> Output:
    """Leave a held match unplayed; it counts for nobody."""
    client.leave(match, reason)
    return Output({"match_id": match}, f"Match {match} stays unplayed.")


def _rule_on_entry(client: Client, verb: str, season: int, bot: str, reason: str, now: str) -> Output:
    """Apply one of the API's actions to an entry. `now` completes a sentence about the bot."""
    entry = find_entry(client, season, bot)
    client.change_entry(season, entry.bot_id, verb, {"reason": reason})
    return Output({"season_id": season, "bot_id": entry.bot_id}, f"{entry.bot} {now}")


@asked()
def disqualify(client: Client, season: Season, bot: Bot, reason: Why) -> Output:
    """Disqualify a bot from a season: no new matches, and no old ones count."""
    now = f"is disqualified in season {season}. `reinstate` reverses this."
    return _rule_on_entry(client, "disqualify", season, bot, reason, now)


@asked(name="withdraw")
def take_out(client: Client, season: Season, bot: Bot, reason: Why) -> Output:
    """Withdraw a bot from a season: waiting matches are dropped, old ones count."""
    now = f"is out of season {season}, and its matches count. `reinstate` reverses this."
    return _rule_on_entry(client, "withdraw", season, bot, reason, now)


@asked()
def reinstate(client: Client, season: Season, bot: Bot, reason: Why) -> Output:
    """Reverse a disqualification or a withdrawal."""
    return _rule_on_entry(client, "reinstate", season, bot, reason, f"takes part in season {season} again.")


@asked()
def announce(
    client: Client,
    title: Annotated[str, typer.Argument(help="The title, one line.")],
    text: Annotated[str, typer.Argument(help="The text.")],
    season: Annotated[int, typer.Option(help="The season that it is about; 0: the whole league.")] = 0,
) -> Output:
    """Publish an announcement for everyone."""
    made = client.announce({"title": title, "text": text} | ({"season": season} if season else {}))
    return Output(made, f"Announcement {made.id} is published. `take-down {made.id}` removes it.")


@asked()
def take_down(
    client: Client, announcement: Annotated[int, typer.Argument(help="The announcement's number.", min=1)]
) -> Output:
    """Remove an announcement from the site."""
    client.take_down(announcement)
    return Output({"id": announcement}, f"Announcement {announcement} is removed.")


@asked()
def appeals(
    client: Client,
    season: Annotated[int, typer.Option(help="Only appeals of this season; 0: all seasons.")] = 0,
    state: Annotated[AppealState | None, typer.Option(help="Only appeals in this state.")] = AppealState.OPEN,
    every: Annotated[bool, typer.Option("--all", help="Appeals in any state.")] = False,
) -> Output:
    """List appeals with the results of re-simulating their matches."""

    def lines(item: Appeal) -> Iterator[RenderableType]:
        findings = item.findings
        facts = [Text.assemble(REPLAYS[findings["verified"]])]
        facts += [harmless(f"{fault['bot']} {fault['fault']} at {fault['command']}") for fault in findings["faults"]]
        if voids := sum(attempt["cause"] != "played" for attempt in findings["attempts"]):
            facts.append(Text(f"{counted(voids, 'attempt')} void"))
        head = harmless(f"Appeal {item.id}, {item.state}: match {item.match_id}, by {item.bot}", "bold")
        yield Text.assemble(head, " (", Text(", ").join(facts), ")")
        yield quoted(item.text)
        if item.ruling:
            yield "  The ruling:"
            yield quoted(item.ruling)

    filed = client.appeals(season=season, state="" if every or state is None else state.value)
    return listed(filed, lines, "No appeal.")


@asked()
def rule(
    client: Client,
    appeal: Annotated[int, typer.Argument(help="The appeal's number.", min=1)],
    reason: Why,
    uphold: Annotated[bool, typer.Option("--uphold/--reject", help="Whether the author is right.")],
    remedy: Annotated[Remedy, typer.Option(help="What happens to the match if the appeal is upheld.")] = Remedy.NONE,
) -> Output:
    """Rule on an author's appeal."""
    made = client.rule(appeal, {"uphold": uphold, "ruling": reason, "remedy": remedy.value})
    return Output(made, f"Appeal {appeal} about match {made.match_id} is {made.state}.")


NAME_WIDTH = 16
STYLES = {"fit": "green", "unchecked": "magenta", "unfit": "red"}
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))

WORKERS: Columns[Worker] = (
    Column("no.", lambda worker: worker.number, right=True),
    Column("machine", lambda worker: short(worker.name, NAME_WIDTH), whole=True),
    Column("fitness", lambda worker: harmless(worker.fitness, STYLES.get(worker.fitness, "")), whole=True),
    Column("judges", lambda worker: "yes" if worker.judges else Text("no", "red"), whole=True),
    Column("seen", lambda worker: _ago(worker.last_seen_at), whole=True),
    Column("proved", lambda worker: _ago(worker.canary_at), whole=True),
    Column("series", lambda worker: worker.series, right=True),
    Column("void", lambda worker: worker.voids, right=True),
)

GAMES: Columns[GameHere] = (
    Column("game", lambda game: harmless(game.name), whole=True),
    Column("rules", lambda game: game.rules_version, right=True),
    Column("hash of its folder", lambda game: game.digest[:SHOWN_DIGITS], whole=True),
)


@asks
def workers(client: Client) -> Output:
    """Show the machines that play, whether each is fit to judge, and why not; and the league's games.

    Exit code 1 if none is given matches. The token is an organiser's, e.g. the one in data/organiser.token.
    """
    known = client.workers()
    return Output(known, _machines(known), code=0 if any(worker.judges for worker in known.items) else 1)


def _machines(known: Workers) -> Iterator[RenderableType]:
    yield table(known.items, WORKERS)
    for worker in known.items:
        yield from (Text.assemble(harmless(f"{worker.name}: ", "red"), harmless(why)) for why in worker.reasons)
        yield from (Text.assemble(harmless(f"{worker.name}: {why}", "red")) for why in worker.disagreements)
        cures = {text: f" (Fix: {cure}.)" for text, cure in worker.cures.items()}
        yield from (f"{worker.name}: {remark}{cures.get(remark, '')}" for remark in worker.remarks)
    yield table(known.games, GAMES)
    yield from (harmless(problem, "red") for problem in known.broken_games)
    if known.judge_unfit:
        rest = " (DEADHEAT_JUDGE_UNFIT); each of their attempts says so."
        yield Text.assemble(("Unfit machines judge anyway", "red"), rest)
    elif not any(worker.judges for worker in known.items):
        rest = " Run `deadheat check-host` there to see how to fix it."
        yield Text.assemble(("No machine is fit to judge: matches wait.", "red"), rest)


def _ago(instant: datetime | None) -> str:
    if instant is None:
        return "never"
    seconds = max(0, int((datetime.now(UTC) - instant).total_seconds()))
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size), (1, "s"))
    return f"{seconds // size} {unit} ago"
