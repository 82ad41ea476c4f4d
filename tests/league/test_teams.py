"""A team's members may do certain things with its bots."""

from __future__ import annotations

from functools import partial

import pytest
from sqlmodel import Session

from deadheat.league import errors
from deadheat.league.records.people import Team
from deadheat.league.service.bots.bots import bot_info, bots_of, build_log, create_bot, own_bot
from deadheat.league.service.people import teams
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.bot_changes import change_bot
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.views.matches import endings, matches
from tests.league.people import GAME
from tests.league.refusals import refused
from tests.league.world import World


def shown(world: World, team_id: int, asker: Person | None = None) -> Team:
    return world.read(teams.team_info, team_id, asker)


def test_a_team_holds_only_so_many(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, *(world.author(f"crowd{number}") for number in range(teams.MAX_MEMBERS - 1)))
    world.refused(errors.TooMany, teams.invite_to_team, ada, team_id, bob.name)


def test_a_teams_affairs_are_its_captains(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)
    world.refused(errors.NotCaptain, teams.invite_to_team, bob, team_id, "boss")
    world.refused(errors.NotCaptain, teams.leave_team, bob, team_id, "ada")
    assert "captain" in world.refused(errors.WrongState, teams.leave_team, ada, team_id, "ada")
    world.write(teams.hand_over_team, ada, team_id, "bob")
    world.write(teams.leave_team, ada, team_id, "ada")
    assert (shown(world, team_id).captain, shown(world, team_id).members) == ("bob", ("bob",))


@pytest.mark.parametrize("first", ["handed over", "left"])
@pytest.mark.databases
def test_a_captain_stays_a_member_when_two_act_at_once(world: World, first: str) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)

    def hand_over(session: Session) -> None:
        teams.hand_over_team(session, ada, team_id, "bob")

    def leave(session: Session) -> None:
        teams.leave_team(session, bob, team_id, "bob")

    with pytest.raises(errors.LeagueError, match="captain" if first == "handed over" else "not a member"):
        world.at_once(*((hand_over, leave) if first == "handed over" else (leave, hand_over)))
    found = shown(world, team_id)
    assert found.captain in found.members


@pytest.mark.databases
def test_an_invitation_that_is_taken_back_at_once_is_none(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada)
    world.write(teams.invite_to_team, ada, team_id, "bob")

    def take_back(session: Session) -> None:
        teams.leave_team(session, ada, team_id, "bob")

    def join(session: Session) -> None:
        teams.join_team(session, bob, team_id)

    assert "Nobody has invited you" in refused(errors.NotFound, world.at_once, take_back, join)


@pytest.mark.databases
def test_two_invitations_at_once_are_both_counted(world: World) -> None:
    ada = world.author("ada")
    team_id = world.team(ada)
    for number in range(teams.MAX_MEMBERS):
        world.author(f"crowd{number}")

    def invite(session: Session, number: int) -> None:
        teams.invite_to_team(session, ada, team_id, f"crowd{number}")

    for number in range(teams.MAX_MEMBERS - 2):
        world.write(invite, number)
    with pytest.raises(errors.TooMany):
        world.at_once(partial(invite, number=teams.MAX_MEMBERS - 2), partial(invite, number=teams.MAX_MEMBERS - 1))


def test_a_team_and_a_person_never_share_a_name(world: World) -> None:
    ada, mallory = world.author("ada"), world.author("mallory")
    world.team(ada)
    assert "user" in refused(errors.NameTaken, world.team, mallory, name="ADA")
    assert "team" in refused(errors.NameTaken, world.author, "Lovelace")


def test_a_teams_bot_is_every_members_and_no_former_members(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)
    _, bot_id = world.bot("shared", owner=bob)
    world.write(change_bot, bob, bot_id, team_id=team_id)
    world.upload(ada, bot_id)
    assert [bot.team for bot in world.read(bots_of, ada)] == ["lovelace"]
    world.read(build_log, ada, bot_id, 2)
    world.write(teams.leave_team, bob, team_id, "bob")
    refused(errors.NotFound, world.read, own_bot, bob, bot_id)
    assert (world.read(bots_of, bob), world.read(bot_info, bot_id).author) == ([], "bob")


def test_the_stderr_of_a_teams_bot_is_its_members_and_nobody_elses(world: World) -> None:
    ada, bob, eve = world.author("ada"), world.author("bob"), world.author("eve")
    team_id = world.team(ada, bob)
    _, bot_id = world.bot("shared", owner=ada)
    world.write(change_bot, ada, bot_id, team_id=team_id)
    world.write(enter, bob, world.season(1), bot_id)
    world.play_all()
    match_id = world.read(matches, bot_id=bot_id)[0].id
    for who in (ada, bob):
        assert [ending.bot for ending in world.read(endings, who, match_id)] == ["shared"]
    refused(errors.NotFound, world.read, endings, eve, match_id)


def test_a_bot_changes_hands_only_between_seasons(world: World) -> None:
    ada = world.author("ada")
    team_id = world.team(ada)
    _, bot_id = world.entrant(world.season(0), owner=ada)
    assert "season" in world.refused(errors.WrongState, change_bot, ada, bot_id, team_id=team_id)


def test_a_bot_is_given_only_to_a_team_that_one_is_in(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada)
    _, bot_id = world.bot(owner=bob)
    assert "You are not in team" in world.refused(errors.NotFound, change_bot, bob, bot_id, team_id=team_id)
    assert "You are not in team" in world.refused(errors.NotFound, create_bot, bob, GAME, "intruder", team_id)


def test_only_the_captain_gives_a_teams_bot_back(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    bot_id = world.write(create_bot, bob, GAME, "shared", world.team(ada, bob)).id
    world.refused(errors.NotCaptain, change_bot, bob, bot_id, team_id=None)
    assert world.write(change_bot, ada, bot_id, team_id=None).team is None
    assert world.read(own_bot, bob, bot_id).id == bot_id


def test_a_team_has_one_bot_of_a_name(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)
    world.write(create_bot, ada, GAME, "shared", team_id)
    world.refused(errors.NameTaken, create_bot, bob, GAME, "Shared", team_id)
