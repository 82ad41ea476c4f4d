"""Entry rules: who may enter a season, with what, and on whose word."""

from __future__ import annotations

import pytest

from league import errors, service
from league.service.bots import Upload
from league.service.seasons import SeasonSettings
from league.service.users import Person
from league.states import Admission, SeasonState
from tests.league.world import GAME, SHA, World


def enter(world: World, who: Person, season_id: int, bot_id: int, number: int | None = None) -> int:
    """The version that then plays."""
    with world.db.transaction() as session:
        return service.enter(session, who, season_id, bot_id, number).version


def in_language(world: World, owner: Person, bot_id: int, language: str) -> None:
    """Another version of the bot, ready."""
    with world.db.transaction() as session:
        version = service.add_version(session, owner, bot_id, Upload("bot", 10, SHA, language, "main"))
    world.build(version.id)


def invite(world: World, season_id: int, name: str) -> list[str]:
    with world.db.transaction() as session:
        return service.invite_to_season(session, world.boss, season_id, name)


def test_an_author_has_only_so_many_entries(world: World) -> None:
    season_id = world.season(0, entries_per_author=1)
    owner, first = world.bot()
    _, second = world.bot(owner=owner)
    enter(world, owner, season_id, first)
    enter(world, owner, season_id, first)  # once more is no second entry
    with pytest.raises(errors.TooMany, match="one author or team"):
        enter(world, owner, season_id, second)


def test_a_team_counts_as_one_author_and_apart_from_its_members(world: World) -> None:
    season_id = world.season(0, entries_per_author=1)
    owner, own = world.bot()
    with world.db.transaction() as session:
        team_id = service.create_team(session, owner, "lovelace").id
    shared = [world.bot(owner=owner)[1] for _ in range(2)]
    for bot_id in shared:
        with world.db.transaction() as session:
            service.set_team(session, owner, bot_id, team_id)
    enter(world, owner, season_id, own)
    enter(world, owner, season_id, shared[0])
    with pytest.raises(errors.TooMany):
        enter(world, owner, season_id, shared[1])


def test_a_season_for_teams_admits_only_bots_of_teams(world: World) -> None:
    season_id = world.season(0, teams_only=True)
    owner, bot_id = world.bot()
    with pytest.raises(errors.NotAdmitted, match="teams"):
        enter(world, owner, season_id, bot_id)
    with world.db.transaction() as session:
        service.set_team(session, owner, bot_id, service.create_team(session, owner, "lovelace").id)
    enter(world, owner, season_id, bot_id)


def test_only_who_is_on_the_list_enters_an_invitational(world: World) -> None:
    season_id = world.season(0, admission=Admission.INVITED)
    owner, bot_id = world.bot(owner=world.author("ada"))
    with pytest.raises(errors.NotAdmitted, match="ada is not on its list"):
        enter(world, owner, season_id, bot_id)
    assert invite(world, season_id, "ADA") == ["ada"]
    enter(world, owner, season_id, bot_id)
    with world.db.transaction() as session:
        assert service.uninvite_from_season(session, world.boss, season_id, "ada") == []
    enter(world, owner, season_id, bot_id, 1)  # who is in, stays in


def test_the_list_is_the_organisers(world: World) -> None:
    season_id = world.season(0)
    ada = world.author("ada")
    with pytest.raises(errors.NotAllowed), world.db.transaction() as session:
        service.invite_to_season(session, ada, season_id, "ada")
    with pytest.raises(errors.NotAllowed), world.db.reading() as session:
        service.invited_to_season(session, ada, season_id)
    with pytest.raises(errors.NotFound):
        invite(world, season_id, "nobody")


def test_organisers_enter_whom_they_like(world: World) -> None:
    season_id = world.season(0, admission=Admission.NOBODY, teams_only=True)
    owner, bot_id = world.bot()
    with pytest.raises(errors.NotAdmitted, match="organisers choose"):
        enter(world, owner, season_id, bot_id)
    enter(world, world.boss, season_id, bot_id)
    with world.db.reading() as session:
        noted = service.audit_log(session, subject=f"season/{season_id}")[0]
    assert (noted.actor, noted.action) == ("boss", "entered")


def test_a_season_of_some_languages_takes_versions_in_those(world: World) -> None:
    season_id = world.season(0, languages=["c", "cpp"])
    owner, bot_id = world.bot()
    with pytest.raises(errors.NotAdmitted, match="no version that is ready is in c, cpp"):
        enter(world, owner, season_id, bot_id)
    with pytest.raises(errors.NotAdmitted, match="version 1 is in python"):
        enter(world, owner, season_id, bot_id, 1)
    in_language(world, owner, bot_id, "c")
    in_language(world, owner, bot_id, "python")
    assert enter(world, owner, season_id, bot_id) == 2


def test_a_new_version_in_another_language_does_not_take_over(world: World) -> None:
    season_id = world.season(0, languages=["python"])
    owner, bot_id = world.bot()
    enter(world, owner, season_id, bot_id)
    for language, plays in (("c", 1), ("python", 3)):
        in_language(world, owner, bot_id, language)
        with world.db.reading() as session:
            assert service.entry_info(session, season_id, bot_id).version == plays


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"entries_per_author": 1}, errors.TooMany),
        ({"admission": Admission.NOBODY}, errors.NotAdmitted),
        ({"teams_only": True}, errors.NotAdmitted),
    ],
)
def test_a_rule_that_comes_later_ends_no_entry(
    world: World, settings: SeasonSettings, refusal: type[errors.LeagueError]
) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot()
    enter(world, owner, season_id, bot_id)
    with world.db.transaction() as session:
        service.edit_season(session, world.boss, season_id, **settings)
    enter(world, owner, season_id, bot_id, 1)
    with pytest.raises(refusal):
        enter(world, owner, season_id, world.bot(owner=owner)[1])


def test_entries_are_shown_with_their_team(world: World) -> None:
    season_id = world.season(1)
    owner = world.author("ada")
    with world.db.transaction() as session:
        team_id = service.create_team(session, owner, "lovelace").id
        bot_id = service.create_bot(session, owner, GAME, "shared", team_id).id
    world.build(world.upload(owner, bot_id))
    enter(world, owner, season_id, bot_id)
    with world.db.transaction() as session:
        assert [entry.team for entry in service.entries(session, season_id)] == [None, "lovelace"]
        service.refit(session, season_id)
        rows = service.leaderboard(session, season_id).standings["rows"]
    assert {row["bot_id"]: row["team"] for row in rows} == {1: None, bot_id: "lovelace"}


def test_nobody_enters_while_a_season_freezes(world: World) -> None:
    """The season's row is locked by whoever enters, so its state cannot change in between."""
    season_id = world.season(0)
    owner, bot_id = world.bot()
    with world.db.transaction() as session:
        service.set_season_state(session, world.boss, season_id, SeasonState.FROZEN)
        with pytest.raises(errors.WrongState):
            service.enter(session, owner, season_id, bot_id)
    with world.db.reading() as session:
        assert service.entries(session, season_id) == []
