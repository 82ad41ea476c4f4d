"""What an author does with a bot on a server, beside uploading it: enter seasons, watch its gate, share it in teams."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import command, fail, out, plain
from cli.server.api_client import Client
from cli.server.api_models import Entry, Team
from cli.server.client import AsJson, Server, Token, connect, print_json, print_json_lines
from engine.figures import counted

Bot = Annotated[str, typer.Argument(metavar="BOT", help="One of your bots, by name or number.")]
Season = Annotated[int, typer.Option("--season", help="The season's number.", min=1)]
TeamName = Annotated[str, typer.Argument(metavar="TEAM", help="One of your teams, by name or number.")]
Who = Annotated[str, typer.Argument(metavar="NAME", help="An author's name.")]

group = typer.Typer(no_args_is_help=True, help="Share bots with other authors.")


def register(app: typer.Typer) -> None:
    """Add this module's verbs to `app`."""
    app.command()(enter)
    app.command()(withdraw)
    app.command()(rejoin)
    app.command()(gate)
    app.command()(people)
    app.command()(trial)
    app.add_typer(group, name="team")


def enter(
    bot: Bot,
    season: Season,
    version: Annotated[int, typer.Option(help="Play only this version; 0: always the newest.", min=0)] = 0,
    gate: Annotated[
        str,
        typer.Option(help="Promotion gate, ELO0,ELO1[,GAMES]: newer versions must first pass a test. `none`: no gate."),
    ] = "",
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Enter a bot into a season, or choose which of its versions plays there."""
    body: dict[str, Any] = {"version": version or None}
    if gate:
        body["gate"] = None if gate.lower() == "none" else gate_terms(gate)
    with connect(server, token) as client:
        bot_id = find_bot(client, bot, client.season(season).game)
        entry = client.enter(season, bot_id, body)
        tried = client.challenges(season, bot_id)[:1] if entry.gated and entry.follows else []
    if as_json:
        print_json(entry)
        return
    then = "newer versions pass the gate first" if entry.gated else "newer versions take over"
    out.print(
        f"{plain(entry.bot)} plays version {entry.version} in season {season}"
        f"{f', {then}' if entry.follows else ' and nothing else'}."
    )
    if entry.challenger:
        shows = command("gate", bot, "--season", str(season))
        out.print(f"Version {entry.challenger} is at the gate; see `{shows}`.", soft_wrap=True)
    elif tried and tried[0].state == "failed" and tried[0].candidate > entry.version:
        out.print(f"Version {tried[0].candidate} failed at the gate. {plain(tried[0].reason)}", soft_wrap=True)


def withdraw(bot: Bot, season: Season, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Withdraw your bot from a season. It gets no new matches; those played or waiting count."""
    _change_entry("withdraw", bot, season, server, token, as_json)


def rejoin(bot: Bot, season: Season, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Reverse your withdrawal; in an open season after an hour, unless the server sets another pause."""
    _change_entry("rejoin", bot, season, server, token, as_json)


def gate(bot: Bot, season: Season, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Show how new versions of a bot do, and did, at its promotion gate."""
    with connect(server, token) as client:
        found = client.challenges(season, find_bot(client, bot, client.season(season).game))
    if as_json:
        print_json_lines(found)
        return
    for item in found:
        score = f"{item.wins} / {item.draws} / {item.losses} of at most {counted(item.games_limit, 'game')}"
        test = f"LLR {item.llr:.2f}, fails at {item.lower:.2f}, passes at {item.upper:.2f}"
        out.print(f"Version {item.candidate} against {item.incumbent}: {item.state}; {score}; {test}.")
        if item.reason:
            out.print(f"  {plain(item.reason)}")
    if not found:
        out.print("No version has been at the gate.")


def people(
    bot: Bot,
    may: Annotated[bool, typer.Option("--on/--off", help="Whether people may play.")],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Allow or forbid people to play against your bot on the site."""
    with connect(server, token) as client:
        changed = client.change_bot(find_bot(client, bot), plays_people=may)
    if as_json:
        print_json(changed)
    else:
        out.print(f"People {'may' if changed.plays_people else 'cannot'} play against {plain(changed.name)}.")


def trial(
    bot: Bot,
    version: Annotated[int, typer.Argument(help="Its number.", min=1)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: BOT-VERSION-trial.jsonl.")
    ] = None,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Fetch the transcript of a version's trial match; `deadheat replay` shows it."""
    path = output or Path(f"{bot}-{version}-trial.jsonl")
    with connect(server, token) as client:
        content = client.trial(find_bot(client, bot), version)
    write_file(path, content, as_json, command("replay", str(path)))


@group.command(name="create")
def create_team(name: Who, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Create a team with yourself as captain."""
    with connect(server, token) as client:
        _tell(client.create_team(name), as_json)


@group.command(name="list")
def list_teams(server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """List the teams that you are in or invited to."""
    with connect(server, token) as client:
        found = client.teams()
    if as_json:
        print_json_lines(found)
        return
    for team in found:
        _tell(team, as_json=False)
    if not found:
        out.print("You are not in a team.")


@group.command()
def invite(team: TeamName, name: Who, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Invite an author to your team; captains only."""
    with connect(server, token) as client:
        _tell(client.invite_to_team(find_team(client, team), name), as_json)


@group.command()
def join(team: TeamName, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Accept an invitation to a team."""
    with connect(server, token) as client:
        _tell(client.join_team(find_team(client, team)), as_json)


@group.command()
def leave(team: TeamName, name: Who, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Leave a team, decline an invitation, or remove a member (captains only). The team keeps its bots."""
    with connect(server, token) as client:
        _tell(client.leave_team(find_team(client, team), name), as_json)


@group.command(name="hand-over")
def hand_over(team: TeamName, name: Who, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Make another member captain of your team."""
    with connect(server, token) as client:
        _tell(client.hand_over_team(find_team(client, team), name), as_json)


@group.command()
def give(
    bot: Bot,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="One of your teams; `none`: back to the bot's creator.")],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Give a bot to a team, whose members may then upload versions and read logs. Not during a season."""
    with connect(server, token) as client:
        team_id = None if team.lower() == "none" else find_team(client, team)
        found = client.change_bot(find_bot(client, bot), team_id=team_id)
    if as_json:
        print_json(found)
    else:
        out.print(f"{plain(found.name)} belongs to {plain(found.team or found.author)}.")


def write_file(path: Path, content: bytes, as_json: bool, then: str = "") -> None:
    """Write a download and say so; ends the command where that fails. `then`: a command to look at it."""
    try:
        path.write_bytes(content)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    if as_json:
        print_json({"file": str(path), "bytes": len(content)})
    else:
        out.print(f"Written to {plain(str(path))}{f': {then}' if then else ''}", soft_wrap=True)


def find_bot(client: Client, wanted: str, game: str = "") -> int:
    """The number of the asker's bot of that name (in that game)."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted)
    found = [bot for bot in client.bots() if bot.name.lower() == wanted.lower() and game in {"", bot.game}]
    if not found:
        fail(f"you have no bot {wanted!r}{f' for {game}' if game else ''}")
    if len(found) > 1:
        listed = ", ".join(f"{bot.id} ({bot.game}{', ' + bot.team if bot.team else ''})" for bot in found)
        fail(f"you have several bots named {wanted!r}; use a number: {listed}")
    return found[0].id


def find_entry(client: Client, season: int, wanted: str) -> Entry:
    """The season's entry of that name, whoever's it is: a bot's number, its name, or AUTHOR/NAME."""
    entries = list(client.entries(season))
    for entry in entries:
        if wanted == str(entry.bot_id):
            return entry
    found = [entry for entry in entries if wanted.lower() in {entry.bot.lower(), f"{entry.author}/{entry.bot}".lower()}]
    if not found:
        fail(f"season {season} has no bot {wanted!r}; `deadheat season entries {season}` lists its bots")
    if len(found) > 1:
        listed = ", ".join(f"{entry.author}/{entry.bot} ({entry.bot_id})" for entry in found)
        fail(f"season {season} has several bots named {wanted!r}: {listed}")
    return found[0]


def find_team(client: Client, wanted: str) -> int:
    """The number of the team of that name that the asker is in or invited to."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted)
    teams = {team.name.lower(): team.id for team in client.teams()}
    if wanted.lower() not in teams:
        fail(f"you are neither in a team {wanted!r} nor invited to one")
    return teams[wanted.lower()]


def gate_terms(text: str) -> dict[str, Any]:
    """ELO0,ELO1[,GAMES] as the API takes it."""
    parts = text.split(",")
    try:
        terms: dict[str, Any] = {"elo0": float(parts[0]), "elo1": float(parts[1])}
        if len(parts) == 3:
            terms["games"] = int(parts[2])
        elif len(parts) > 3:
            raise ValueError
    except (ValueError, IndexError):
        fail(f"{text!r} is not a gate; write for example 0,100 or 0,100,200", 2)
    return terms


def _change_entry(verb: str, bot: str, season: int, server: str, token: str, as_json: bool) -> None:
    with connect(server, token) as client:
        bot_id = find_bot(client, bot, client.season(season).game)
        client.change_entry(season, bot_id, verb)
    if as_json:
        print_json({"season_id": season, "bot_id": bot_id})
    elif verb == "rejoin":
        out.print(f"{plain(bot)} takes part in season {season} again.")
    else:
        back = command("rejoin", bot, "--season", str(season))
        out.print(f"{plain(bot)} gets no more matches in season {season}. `{back}` reverses this.", soft_wrap=True)


def _tell(team: Team, as_json: bool) -> None:
    if as_json:
        print_json(team)
        return
    members = ", ".join(f"{name} (captain)" if name == team.captain else name for name in team.members)
    invited = f"; invited: {', '.join(team.invited)}" if team.invited else ""
    out.print(f"Team {plain(team.name)}, number {team.id}: {plain(members + invited)}", soft_wrap=True)
