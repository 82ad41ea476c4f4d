"""`deadheat team`: bots that several authors share."""

from __future__ import annotations

from typing import Annotated

import typer

from deadheat.cli.author.entering import Bot, find_bot
from deadheat.cli.console import fail, number_in
from deadheat.cli.output import Output, commands, listed
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks
from deadheat.league.records.bots import Team

TeamName = Annotated[str, typer.Argument(metavar="TEAM", help="One of your teams, by name or number.")]
Who = Annotated[str, typer.Argument(metavar="NAME", help="An author's name.")]

group = typer.Typer(no_args_is_help=True, help="Share bots with other authors.")
asked = commands(group, asks)


@asked()
def create(client: Client, name: Annotated[str, typer.Argument(metavar="NAME", help="The team's name.")]) -> Output:
    """Create a team with yourself as captain."""
    return _shown(client.create_team(name))


@asked(name="list")
def list_teams(client: Client) -> Output:
    """List the teams that you are in or invited to."""
    return listed(client.teams(), _line, "You are not in a team.")


@asked()
def invite(client: Client, team: TeamName, name: Who) -> Output:
    """Invite an author to your team; captains only."""
    return _shown(client.invite_to_team(find_team(client, team), name))


@asked()
def join(client: Client, team: TeamName) -> Output:
    """Accept an invitation to a team."""
    return _shown(client.join_team(find_team(client, team)))


@asked()
def leave(client: Client, team: TeamName, name: Who) -> Output:
    """Leave a team, decline an invitation, or remove a member (captains only). The team keeps its bots."""
    return _shown(client.leave_team(find_team(client, team), name))


@asked()
def hand_over(client: Client, team: TeamName, name: Who) -> Output:
    """Make another member captain of your team."""
    return _shown(client.hand_over_team(find_team(client, team), name))


@asked()
def give(
    client: Client,
    bot: Bot,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="One of your teams; `none`: back to the bot's creator.")],
) -> Output:
    """Give a bot to a team, whose members may then upload versions and read logs. Not during a season."""
    team_id = None if team.lower() == "none" else find_team(client, team)
    found = client.change_bot(find_bot(client, bot), team_id=team_id)
    return Output(found, f"{found.name} belongs to {found.team or found.author}.")


def find_team(client: Client, wanted: str) -> int:
    """Return the number of the team of that name to which the user belongs or is invited."""
    if (number := number_in(wanted)) is not None:
        return number
    teams = {team.name.lower(): team.id for team in client.teams()}
    return teams.get(wanted.lower()) or fail(f"you are neither in a team {wanted!r} nor invited to one")


def _shown(team: Team) -> Output:
    return Output(team, _line(team))


def _line(team: Team) -> str:
    members = ", ".join(f"{name} (captain)" if name == team.captain else name for name in team.members)
    invited = f"; invited: {', '.join(team.invited)}" if team.invited else ""
    return f"Team {team.name}, number {team.id}: {members}{invited}"
