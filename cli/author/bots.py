"""An author's bots: their versions, seasons and teams, and the notices about them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from deadheat.cli.console import USAGE, command, fail, harmless, number_in
from deadheat.cli.output import Column, Columns, Output, as_object, commands, listed, tabled
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, asks
from deadheat.engine.figures import counted, seat_number
from deadheat.league.records.bots import Bot as BotAnswer
from deadheat.league.records.bots import Notice, Team, Version
from deadheat.league.records.entries import Challenge, Entry, PanelResult

Bot = Annotated[str, typer.Argument(metavar="BOT", help="One of your bots, by name or number.")]
Season = Annotated[int, typer.Option("--season", help="The season's number.", min=1)]


@asks
def enter(
    client: Client,
    bot: Bot,
    season: Season,
    version: Annotated[int, typer.Option(help="Play only this version; 0: always the newest.", min=0)] = 0,
    gate: Annotated[
        str,
        typer.Option(help="Promotion gate, ELO0,ELO1[,GAMES]: newer versions must first pass a test. `none`: no gate."),
    ] = "",
) -> Output:
    """Enter a bot into a season, or choose which of its versions plays there."""
    body: dict[str, Any] = {"version": version or None}
    if gate.lower() == "none":
        body["gate"] = None
    elif gate:
        try:
            elo0, elo1, *games = gate.split(",", 2)
            body["gate"] = {"elo0": float(elo0), "elo1": float(elo1), **({"games": int(games[0])} if games else {})}
        except ValueError:
            fail(f"{gate!r} is not a gate such as 0,100 or 0,100,200", USAGE)
    entry = client.enter(season, find_bot(client, bot, client.season(season).game), body)
    return Output(entry, _entered(client, entry, season))


def _entered(client: Client, entry: Entry, season: int) -> Iterator[str]:
    then = "newer versions must first pass the gate" if entry.gated else "newer versions take over"
    which = f"; {then}" if entry.follows else ", and no other"
    yield f"{entry.bot} plays version {entry.version} in season {season}{which}."
    if entry.challenger:
        yield f"Version {entry.challenger} is at the gate; see `{command('contest', 'list', '--kind', 'gate')}`."
    elif entry.gated and entry.follows:
        for tried in client.challenges(season, entry.bot_id)[:1]:
            if tried.state == "failed" and tried.candidate > entry.version:
                yield f"Version {tried.candidate} failed at the gate. {tried.reason}"


@asks
def withdraw(client: Client, bot: Bot, season: Season) -> Output:
    """Withdraw your bot from a season. It gets no new matches; those played or waiting count."""
    back = command("rejoin", bot, "--season", str(season))
    now = f"gets no more matches in season {season}. `{back}` reverses this; in an open season, after a pause."
    return _change_entry(client, "withdraw", bot, season, now)


@asks
def rejoin(client: Client, bot: Bot, season: Season) -> Output:
    """Reverse your withdrawal; in an open season after an hour, unless the server sets another pause."""
    return _change_entry(client, "rejoin", bot, season, f"takes part in season {season} again.")


def _change_entry(client: Client, verb: str, bot: str, season: int, now: str) -> Output:
    bot_id = find_bot(client, bot, client.season(season).game)
    client.change_entry(season, bot_id, verb)
    return Output({"season_id": season, "bot_id": bot_id}, f"{bot} {now}")


@asks
def gate(client: Client, bot: Bot, season: Season) -> Output:
    """Show how a bot's new versions are doing, or have done, at its promotion gate."""

    def lines(item: Challenge) -> Iterator[str]:
        score = f"{item.wins} / {item.draws} / {item.losses} of at most {counted(item.games_limit, 'game')}"
        test = f"LLR {item.llr:.2f}, fails at {item.lower:.2f}, passes at {item.upper:.2f}"
        yield f"Version {item.candidate} against {item.incumbent}: {item.state}; {score}; {test}."
        if item.reason:
            yield f"  {item.reason}"

    trials = client.challenges(season, find_bot(client, bot, client.season(season).game))
    return listed(trials, lines, "No version has been at the gate.")


@asks
def appeal(
    client: Client,
    match: Annotated[int, typer.Argument(help="The match's number.", min=1)],
    text: Annotated[str, typer.Argument(help="What is wrong with it, in your words.")],
) -> Output:
    """Appeal against a finished match of your bot: it is re-simulated at once, and an organiser rules."""
    made = client.appeal(match, text)
    findings = made.findings
    result: RenderableType
    if findings["verified"]:
        result = f"Re-simulated: rules, dice and result agree at all {findings['exchanges']} exchanges."
    elif findings["verified"] is None:
        result = f"It could not be re-simulated: {findings['problem']}"
    else:
        result = harmless(f"The transcript does not replay: {findings['problem']}", "red")
    faults = (
        f"  seat {seat_number(fault['seat'])} ({fault['bot']}): {fault['why'] or fault['fault']}"
        for fault in findings["faults"]
    )
    return Output(made, [f"Appeal {made.id} is open.", result, *faults])


def find_bot(client: Client, wanted: str, game: str = "", season: int = 0) -> int:
    """Return the number of the user's bot of that name or AUTHOR/NAME (in that game), or of anyone's in the season; 0
    for no name.
    """
    if not wanted:
        return 0
    if (number := number_in(wanted)) is not None:
        return number
    bots = [bot for bot in client.bots() if is_called(wanted, bot.author, bot.name) and game in {"", bot.game}]
    if not bots and season:
        return find_entry(client, season, wanted).bot_id
    if not bots:
        where = f"`{command('bot', 'list')}` lists yours"
        where += ", and another author's has its number on its page" if "/" in wanted else ""
        fail(f"you have no bot {wanted!r}{f' for {game}' if game else ''}; {where}")
    if len(bots) > 1:
        several = ", ".join(f"{bot.id} ({bot.game}{', ' + bot.team if bot.team else ''})" for bot in bots)
        fail(f"you have several bots named {wanted!r}; use a number: {several}")
    return bots[0].id


def is_called(wanted: str, author: str, bot: str) -> bool:
    """Return whether somebody who writes `wanted` (NAME or AUTHOR/NAME, in any case) means that bot."""
    return wanted.lower() in {bot.lower(), f"{author}/{bot}".lower()}


def find_entry(client: Client, season: int, wanted: str) -> Entry:
    """Return the season's entry for a bot of any author, by its number, its name, or AUTHOR/NAME."""
    entries = list(client.entries(season))
    for entry in entries:
        if wanted == str(entry.bot_id):
            return entry
    matching = [entry for entry in entries if is_called(wanted, entry.author, entry.bot)]
    if not matching:
        fail(f"season {season} has no bot {wanted!r}; `deadheat season entries {season}` lists its bots")
    if len(matching) > 1:
        several = ", ".join(f"{entry.author}/{entry.bot} ({entry.bot_id})" for entry in matching)
        fail(f"season {season} has several bots named {wanted!r}: {several}")
    return matching[0]


Number = Annotated[int, typer.Argument(metavar="VERSION", help="The version's number.", min=1)]

group = typer.Typer(no_args_is_help=True, help="Manage your bots: list, fetch, rename, describe, retire.")
asked = commands(group, asks)

BOTS: Columns[BotAnswer] = (
    Column("bot", lambda bot: bot.id, right=True),
    Column("name", lambda bot: f"{bot.name}{' (retired)' if bot.retired_at else ''}"),
    Column("game", lambda bot: bot.game),
    Column("team", lambda bot: bot.team or "-"),
    Column("versions", lambda bot: bot.versions, right=True),
)


@asked(name="list")
def list_bots(client: Client) -> Output:
    """List your bots and those of your teams."""
    return tabled(client.bots(), BOTS, "You have no bots yet.")


@asked()
def versions(client: Client, bot: Bot) -> Output:
    """List a bot's newest hundred versions, their states, and their points against the panels of seasons."""
    from deadheat.cli.server.follow import panel_line, state_line  # it looks bots up here

    bot_id = find_bot(client, bot)
    panels: dict[int, list[PanelResult]] = {}
    for panel in client.panels(bot_id):
        panels.setdefault(panel.version, []).append(panel)

    def lines(version: Version) -> Iterator[str]:
        size = counted(version.size_bytes, "byte")
        yield f"{state_line(version)} ({version.filename}, {size}, {version.language})"
        for panel in panels.get(version.number, ()):
            yield f"  {panel_line(panel)}"

    known = client.versions(bot_id)
    if not known:
        return Output(text="It has no versions yet.")
    answers = ({**as_object(version), "panels": [*map(as_object, panels.get(version.number, ()))]} for version in known)
    return Output(answers, (line for version in known for line in lines(version)))


@asked()
def source(
    client: Client,
    bot: Bot,
    version: Number,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: BOT-VERSION and the original ending.")
    ] = None,
) -> Output:
    """Fetch a version's upload, byte for byte. Only a file named with --output is overwritten."""
    bot_id = find_bot(client, bot)
    ending = re.search(r"\.\w{1,8}\Z", client.version(bot_id, version).filename, re.ASCII)
    path = output or Path(f"{bot}-{version}{ending[0] if ending else ''}")
    if output is None and path.exists():
        fail(f"{path} already exists; choose a file with --output", USAGE)
    return _written(path, client.source(bot_id, version))


@asked()
def rename(
    client: Client, bot: Bot, name: Annotated[str, typer.Argument(help="At most 32 letters, digits, - and _.")]
) -> Output:
    """Rename a bot. Existing rankings keep the old name."""
    changed = client.change_bot(find_bot(client, bot), name=name)
    return Output(changed, f"The bot is now called {changed.name}.")


@asked()
def describe(
    client: Client, bot: Bot, text: Annotated[str, typer.Argument(help="At most 500 characters; '' for none.")]
) -> Output:
    """Set the description on a bot's public page."""
    changed = client.change_bot(find_bot(client, bot), description=text)
    return Output(changed, f"{changed.name}: {changed.description or 'no description'}")


@asked()
def lend(
    client: Client, bot: Bot, version: Number, undo: Annotated[bool, typer.Option("--undo", help="No longer.")] = False
) -> Output:
    """Let a version play on machines that others lend to the league, whose owners can read it."""
    changed = client.lend_version(find_bot(client, bot), version, lendable=not undo)
    may = "may" if changed.lendable else "does not"
    return Output(changed, f"Version {changed.number} {may} play on lent machines.")


@asked()
def retire(
    client: Client, bot: Bot, undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False
) -> Output:
    """Withdraw a bot from its seasons and from the lists that others choose from. Its results stay.

    In a season that is frozen or in its finals, it plays on to the end.
    """
    changed = client.change_bot(find_bot(client, bot), retired=not undo)
    if undo:
        rejoin = command("rejoin", bot, "--season", "NUMBER")
        return Output(changed, f"{changed.name} is back. `{rejoin}` reverses a withdrawal.")
    return Output(changed, f"{changed.name} is retired. `{command('bot', 'retire', bot, '--undo')}` brings it back.")


@asks
def people(
    client: Client, bot: Bot, may: Annotated[bool, typer.Option("--on/--off", help="Whether people may play.")]
) -> Output:
    """Allow or forbid people to play against your bot on the site."""
    changed = client.change_bot(find_bot(client, bot), plays_people=may)
    return Output(changed, f"People {'may' if changed.plays_people else 'cannot'} play against {changed.name}.")


@asks
def trial(
    client: Client,
    bot: Bot,
    version: Number,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: BOT-VERSION-trial.jsonl.")
    ] = None,
) -> Output:
    """Fetch the transcript of a version's trial match; `deadheat replay` shows it."""
    path = output or Path(f"{bot}-{version}-trial.jsonl")
    return _written(path, client.trial(find_bot(client, bot), version), f": {command('replay', str(path))}")


def _written(path: Path, content: bytes, then: str = "") -> Output:
    try:
        path.write_bytes(content)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    return Output({"file": str(path), "bytes": len(content)}, f"Written to {path}{then}")


TeamName = Annotated[str, typer.Argument(metavar="TEAM", help="One of your teams, by name or number.")]
Who = Annotated[str, typer.Argument(metavar="NAME", help="An author's name.")]

team_group = typer.Typer(no_args_is_help=True, help="Share bots with other authors.")
for_teams = commands(team_group, asks)


@for_teams()
def create(client: Client, name: Annotated[str, typer.Argument(metavar="NAME", help="The team's name.")]) -> Output:
    """Create a team with yourself as captain."""
    return _team(client.create_team(name))


@for_teams(name="list")
def list_teams(client: Client) -> Output:
    """List the teams that you are in or invited to."""
    return listed(client.teams(), _team_line, "You are not in a team.")


@for_teams()
def invite(client: Client, team: TeamName, name: Who) -> Output:
    """Invite an author to your team; captains only."""
    return _team(client.invite_to_team(_find_team(client, team), name))


@for_teams()
def join(client: Client, team: TeamName) -> Output:
    """Accept an invitation to a team."""
    return _team(client.join_team(_find_team(client, team)))


@for_teams()
def leave(client: Client, team: TeamName, name: Who) -> Output:
    """Leave a team, decline an invitation, or remove a member (captains only). The team keeps its bots."""
    return _team(client.leave_team(_find_team(client, team), name))


@for_teams()
def hand_over(client: Client, team: TeamName, name: Who) -> Output:
    """Make another member captain of your team."""
    return _team(client.hand_over_team(_find_team(client, team), name))


@for_teams()
def give(
    client: Client,
    bot: Bot,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="One of your teams; `none`: back to the bot's creator.")],
) -> Output:
    """Give a bot to a team, whose members may then upload versions and read logs. Not during a season."""
    team_id = None if team.lower() == "none" else _find_team(client, team)
    changed = client.change_bot(find_bot(client, bot), team_id=team_id)
    return Output(changed, f"{changed.name} belongs to {changed.team or changed.author}.")


def _find_team(client: Client, wanted: str) -> int:
    """Return the number of the team of that name to which the user belongs or is invited."""
    if (number := number_in(wanted)) is not None:
        return number
    teams = {team.name.lower(): team.id for team in client.teams()}
    return teams.get(wanted.lower()) or fail(f"you are neither in a team {wanted!r} nor invited to one")


def _team(team: Team) -> Output:
    return Output(team, _team_line(team))


def _team_line(team: Team) -> str:
    members = ", ".join(f"{name} (captain)" if name == team.captain else name for name in team.members)
    invited = f"; invited: {', '.join(team.invited)}" if team.invited else ""
    return f"Team {team.name}, number {team.id}: {members}{invited}"


COLUMNS: Columns[Notice] = (
    Column("when", lambda notice: f"{notice.at:%Y-%m-%d %H:%M}", whole=True),
    Column("", lambda notice: "" if notice.read_at else "new"),
    Column("what", lambda notice: notice.text),
    Column("page", lambda notice: notice.path),
)


@asks
def inbox(
    client: Client,
    unread: Annotated[bool, typer.Option("--unread", help="Show only what you have not read.")] = False,
    read: Annotated[bool, typer.Option("--read", help="Mark what is shown, and all that is older, as read.")] = False,
    limit: Most = 20,
) -> Output:
    """Show your notices, newest first."""
    notices = list(client.inbox(unread=unread, limit=limit))
    if read and notices:
        client.mark_read(notices[0].id)
    return tabled(notices, COLUMNS, "There is nothing new." if unread else "There is nothing yet.")
