"""What an author does with a bot on a server, beside uploading it: enter seasons, watch its gate, share it in teams."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from cli.client import DEFAULT_SERVER, Server, Token, ask
from cli.console import fail, out, plain

Bot = Annotated[str, typer.Argument(metavar="BOT", help="A bot of yours, by name or number.")]
Season = Annotated[int, typer.Option("--season", help="The season's number.", min=1)]
TeamName = Annotated[str, typer.Argument(metavar="TEAM", help="A team of yours, by name or number.")]
Who = Annotated[str, typer.Argument(metavar="NAME", help="An author's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]

group = typer.Typer(no_args_is_help=True, help="Share bots with other authors.")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command()(enter)
    app.command()(gate)
    app.add_typer(group, name="team")


def enter(
    bot: Bot,
    season: Season,
    version: Annotated[int, typer.Option(help="This version and no other; 0: follow the newest.", min=0)] = 0,
    gate: Annotated[
        str,
        typer.Option(help="Promotion gate, ELO0,ELO1[,GAMES]: newer versions must pass a test first. `none`: no gate."),
    ] = "",
    server: Server = DEFAULT_SERVER,
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Enter a bot into a season, or choose which of its versions plays there."""
    game = ask(server, "", "GET", f"/v1/seasons/{season}")["game"]
    bot_id = find_bot(server, token, bot, game)
    body: dict[str, Any] = {"version": version or None}
    if gate:
        body["gate"] = None if gate.lower() == "none" else gate_terms(gate)
    entry = ask(server, token, "PUT", f"/v1/seasons/{season}/entries/{bot_id}", json=body)
    if as_json:
        print(json.dumps(entry))
        return
    then = "newer versions pass the gate first" if entry["gated"] else "newer versions take over"
    out.print(
        f"{plain(entry['bot'])} plays version {entry['version']} in season {season}"
        f"{f', {then}' if entry['follows'] else ' and no other'}."
    )
    if entry["challenger"]:
        out.print(f"Version {entry['challenger']} is at the gate: `deadheat gate {bot_id} --season {season}` shows it.")


def gate(bot: Bot, season: Season, server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False) -> None:
    """How new versions of a bot fare, and fared, at its promotion gate."""
    game = ask(server, "", "GET", f"/v1/seasons/{season}")["game"]
    bot_id = find_bot(server, token, bot, game)
    found = ask(server, token, "GET", f"/v1/seasons/{season}/entries/{bot_id}/challenges")["items"]
    if as_json:
        print(json.dumps(found))
        return
    for item in found:
        score = f"{item['wins']} / {item['draws']} / {item['losses']} of at most {item['games_limit']} games"
        test = f"LLR {item['llr']:.2f}, fails at {item['lower']:.2f}, passes at {item['upper']:.2f}"
        out.print(f"Version {item['candidate']} against {item['incumbent']}: {item['state']}; {score}; {test}.")
        if item["reason"]:
            out.print(f"  {plain(item['reason'])}")
    if not found:
        out.print("No version has been at its gate.")


@group.command(name="create")
def create_team(name: Who, server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False) -> None:
    """Make a team with yourself as captain."""
    _tell(ask(server, token, "POST", "/v1/teams", json={"name": name}), as_json)


@group.command(name="list")
def list_teams(server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False) -> None:
    """Teams that you are in or invited to."""
    found = ask(server, token, "GET", "/v1/teams")["items"]
    if as_json:
        print(json.dumps(found))
        return
    for team in found:
        _tell(team, as_json=False)
    if not found:
        out.print("You are in no team.")


@group.command()
def invite(
    team: TeamName, name: Who, server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False
) -> None:
    """Ask an author to join; captains only."""
    address = f"/v1/teams/{find_team(server, token, team)}/invitations"
    _tell(ask(server, token, "POST", address, json={"name": name}), as_json)


@group.command()
def join(team: TeamName, server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False) -> None:
    """Accept an invitation."""
    _tell(ask(server, token, "POST", f"/v1/teams/{find_team(server, token, team)}/join"), as_json)


@group.command()
def leave(
    team: TeamName, name: Who, server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False
) -> None:
    """Leave a team (NAME: yourself), decline an invitation, or as captain remove somebody. Its bots stay with it."""
    address = f"/v1/teams/{find_team(server, token, team)}/members/{name}"
    _tell(ask(server, token, "DELETE", address), as_json)


@group.command(name="hand-over")
def hand_over(
    team: TeamName, name: Who, server: Server = DEFAULT_SERVER, token: Token = "", as_json: AsJson = False
) -> None:
    """Make another member captain."""
    address = f"/v1/teams/{find_team(server, token, team)}"
    _tell(ask(server, token, "PATCH", address, json={"captain": name}), as_json)


@group.command()
def give(
    bot: Bot,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="A team of yours; `none`: back to who made the bot.")],
    server: Server = DEFAULT_SERVER,
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Give a bot to a team: every member may then upload versions and read its logs. Not while it plays a season."""
    team_id = None if team.lower() == "none" else find_team(server, token, team)
    found = ask(server, token, "PATCH", f"/v1/bots/{find_bot(server, token, bot)}", json={"team_id": team_id})
    if as_json:
        print(json.dumps(found))
    else:
        out.print(f"{plain(found['name'])} belongs to {plain(found['team'] or found['author'])}.")


def find_bot(server: str, token: str, wanted: str, game: str = "") -> int:
    """The number of the asker's bot of that name (in that game)."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted)
    bots = ask(server, token, "GET", "/v1/bots")["items"]
    found = [bot for bot in bots if bot["name"].lower() == wanted.lower() and game in {"", bot["game"]}]
    if not found:
        fail(f"you have no bot {wanted!r}{f' for {game}' if game else ''}")
    if len(found) > 1:
        listed = ", ".join(f"{bot['id']} ({bot['game']}{', ' + bot['team'] if bot['team'] else ''})" for bot in found)
        fail(f"you have several bots named {wanted!r}; name one by its number: {listed}")
    return int(found[0]["id"])


def find_team(server: str, token: str, wanted: str) -> int:
    """The number of the team of that name that the asker is in or invited to."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted)
    teams = {team["name"].lower(): team["id"] for team in ask(server, token, "GET", "/v1/teams")["items"]}
    if wanted.lower() not in teams:
        fail(f"you are neither in a team {wanted!r} nor invited to one")
    return int(teams[wanted.lower()])


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
        fail(f"{text!r} is no gate like 0,20 or 0,20,400", 2)
    return terms


def _tell(team: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(team))
        return
    members = ", ".join(f"{name} (captain)" if name == team["captain"] else name for name in team["members"])
    invited = f"; invited: {', '.join(team['invited'])}" if team["invited"] else ""
    out.print(f"Team {plain(team['name'])}, number {team['id']}: {plain(members + invited)}", soft_wrap=True)
