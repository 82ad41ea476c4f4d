"""Rules decide which bots enter a season, and with which version."""

from itertools import product
from typing import Any

import pytest
from sqlmodel import Session

from deadheat.league import errors
from deadheat.league.errors import NameTaken, NotFound, WrongState
from deadheat.league.service.bots.bots import Upload, add_version, bot_info, bots_of, create_bot, may_upload
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.league.service.people import person, teams
from deadheat.league.service.seasons import absence, admission, entries, participation, seasons
from deadheat.league.service.tables.sitting import take_seat
from deadheat.league.service.views import careers, matches, overview
from deadheat.league.states import Absence, Admission, FinalsFormat, SeasonState, SourcesFrom
from deadheat.league.tables import BotVersion, Season
from tests.league.people import GAME
from tests.league.refusals import refused
from tests.league.seasons import at_gate
from tests.league.world import World


def invite(world: World, season_id: int, name: str) -> list[str]:
    return world.write(admission.invite_to_season, world.boss, season_id, name)


def outside(world: World, **settings: Any) -> tuple[int, person.Person, int]:
    """Open a season, and make a bot that is not in it; return the season, the owner and the bot."""
    return world.season(0, **settings), *world.bot()


def team_bot(world: World, member: person.Person, team_id: int) -> int:
    _, bot_id = world.bot(owner=member)
    world.write(participation.change_bot, member, bot_id, team_id=team_id)
    return bot_id


def test_an_author_has_only_so_many_entries(world: World) -> None:
    season_id = world.season(0, entries_per_author=1)
    owner, first = world.bot(owner=world.author("ada"))
    _, second = world.bot(owner=owner)
    world.write(entries.enter, owner, season_id, first)
    world.write(entries.enter, owner, season_id, first)  # entering again adds no second entry
    assert "for ada, alone and in teams" in world.refused(errors.TooMany, entries.enter, owner, season_id, second)
    world.write(absence.withdraw, owner, season_id, first)
    world.refused(errors.TooMany, entries.enter, owner, season_id, second)


def test_a_team_enters_only_what_each_of_its_members_may(world: World) -> None:
    season_id = world.season(0, entries_per_author=2)
    ada, own = world.bot(owner=world.author("ada"))
    bob = world.author("bob")
    shared = [team_bot(world, bob, world.team(bob, ada, name=name)) for name in ("one", "other")]
    world.write(entries.enter, ada, season_id, own)
    world.write(entries.enter, bob, season_id, shared[0])
    assert "for ada, alone and in teams" in world.refused(errors.TooMany, entries.enter, bob, season_id, shared[1])
    world.write(entries.enter, world.boss, season_id, shared[1])  # an organiser overrides the rule


def test_an_author_with_the_most_entries_joins_no_team_with_more(world: World) -> None:
    season_id = world.season(0, entries_per_author=1)
    ada, own = world.bot(owner=world.author("ada"))
    bob, eve = world.author("bob"), world.author("eve")
    team_id = world.team(bob, name="one")
    world.write(entries.enter, ada, season_id, own)
    world.write(entries.enter, bob, season_id, team_bot(world, bob, team_id))

    def join(who: person.Person) -> None:
        world.write(teams.invite_to_team, bob, team_id, who.name)
        world.write(teams.join_team, who, team_id)

    assert "season 1 for ada" in refused(errors.TooMany, join, ada)
    join(eve)
    world.set_state(season_id, SeasonState.CLOSED)
    join(ada)


@pytest.mark.parametrize("first", ["the bot enters", "its author joins"])
@pytest.mark.databases
def test_a_member_who_joins_while_the_teams_bot_enters_is_counted(world: World, first: str) -> None:
    season_id = world.season(0, entries_per_author=1)
    ada, own = world.bot(owner=world.author("ada"))
    bob = world.author("bob")
    world.write(entries.enter, ada, season_id, own)
    team_id = world.team(bob, name="one")
    shared = team_bot(world, bob, team_id)
    world.write(teams.invite_to_team, bob, team_id, ada.name)

    def enters(session: Session) -> object:
        return entries.enter(session, bob, season_id, shared)

    def joins(session: Session) -> object:
        return teams.join_team(session, ada, team_id)

    refused(errors.TooMany, world.at_once, *((enters, joins) if first == "the bot enters" else (joins, enters)))


def test_a_season_for_teams_admits_only_bots_of_teams(world: World) -> None:
    season_id, owner, bot_id = outside(world, teams_only=True)
    assert "teams" in world.refused(errors.NotAdmitted, entries.enter, owner, season_id, bot_id)
    world.write(participation.change_bot, owner, bot_id, team_id=world.write(teams.create_team, owner, "lovelace").id)
    world.write(entries.enter, owner, season_id, bot_id)


def test_only_authors_on_the_list_enter_an_invitational(world: World) -> None:
    season_id = world.season(0, admission=Admission.INVITED)
    owner, bot_id = world.bot(owner=world.author("ada"))
    assert "ada is not on its list" in world.refused(errors.NotAdmitted, entries.enter, owner, season_id, bot_id)
    assert invite(world, season_id, "ADA") == ["ada"]
    world.write(entries.enter, owner, season_id, bot_id)
    assert world.write(admission.uninvite_from_season, world.boss, season_id, "ada") == []
    world.write(entries.enter, owner, season_id, bot_id, 1)  # a bot that has entered stays


def test_organisers_enter_any_bot(world: World) -> None:
    season_id, owner, bot_id = outside(world, admission=Admission.NOBODY, teams_only=True)
    assert "organisers choose" in world.refused(errors.NotAdmitted, entries.enter, owner, season_id, bot_id)
    world.write(entries.enter, world.boss, season_id, bot_id)
    noted = world.read(audit_log, subject=f"season/{season_id}")[0]
    assert (noted.actor, noted.action) == ("boss", "entered")


def test_a_season_of_some_languages_takes_versions_in_those(world: World) -> None:
    season_id, owner, bot_id = outside(world, languages=["c", "cpp"])
    with pytest.raises(errors.NotAdmitted, match="the newest ready one"):
        world.write(entries.enter, owner, season_id, bot_id)
    assert "version 1 is in python" in world.refused(errors.NotAdmitted, entries.enter, owner, season_id, bot_id, 1)
    world.version(owner, bot_id, language="c")
    world.version(owner, bot_id, language="python")
    assert world.write(entries.enter, owner, season_id, bot_id).version == 2


def test_a_season_of_a_size_takes_versions_within_it(world: World) -> None:
    season_id, owner, bot_id = outside(world, upload_kib=1)

    world.change(BotVersion, 1, size_bytes=1025)
    with pytest.raises(errors.NotAdmitted, match=r"2 KiB, .* at most 1 KiB"):
        world.write(entries.enter, owner, season_id, bot_id)
    assert "1 was an upload of 2 KiB" in world.refused(errors.NotAdmitted, entries.enter, owner, season_id, bot_id, 1)
    world.change(BotVersion, 1, size_bytes=1024)
    assert world.write(entries.enter, owner, season_id, bot_id).version == 1
    world.version(owner, bot_id, language="python")
    assert world.plays(season_id, bot_id) == 2


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"entries_per_author": 1}, errors.TooMany),
        ({"admission": Admission.NOBODY}, errors.NotAdmitted),
        ({"teams_only": True}, errors.NotAdmitted),
    ],
)
def test_a_later_rule_ends_no_entry(world: World, settings: dict[str, Any], refusal: type[errors.LeagueError]) -> None:
    season_id = world.season(0)
    owner, bot_id = world.entrant(season_id)
    world.write(seasons.edit_season, world.boss, season_id, **settings)
    world.write(entries.enter, owner, season_id, bot_id, 1)
    world.refused(refusal, entries.enter, owner, season_id, world.bot(owner=owner)[1])


def test_entries_are_shown_with_their_team(world: World) -> None:
    season_id = world.season(1)
    owner = world.author("ada")
    bot_id = team_bot(world, owner, world.team(owner))
    world.write(entries.enter, owner, season_id, bot_id)
    assert [entry.team for entry in world.read(entries.entries, season_id)] == [None, "lovelace"]
    world.rank(season_id)
    assert {row["bot_id"]: row["team"] for row in world.ranking(season_id)} == {1: None, bot_id: "lovelace"}


def test_entries_are_found_by_the_names_of_bot_author_and_team(world: World) -> None:
    season_id = world.season(0)
    ada = world.author("ada")
    team_bots = [team_bot(world, ada, world.team(ada, name="Lovelace"))]
    own = [world.bot(name, owner=ada)[1] for name in ("Engine_1", "engine-2")]
    world.bot("elsewhere")
    for bot_id in own + team_bots:
        world.write(entries.enter, world.boss, season_id, bot_id)

    def found(named: str, skip: int = 0) -> tuple[list[int], int]:
        listed, in_all = world.read(entries.entries_named, season_id, named, skip=skip, limit=2)
        return [entry.bot_id for entry in listed], in_all

    assert found("") == (sorted(own + team_bots)[:2], 3)
    assert (found(" ADA ", skip=2), found("engine")) == ((sorted(own + team_bots)[2:], 3), (own, 2))
    assert found("e_1") == (own[:1], 1), "no mark stands for another"
    assert found("lovelace") == (team_bots, 1)
    for nobody in ("elsewhere", "%", "\0", "\ud800"):
        assert found(nobody) == ([], 0)


def test_only_its_author_enters_a_bot_where_sources_are_published(world: World) -> None:
    season_id, owner, bot_id = outside(world, sources=SourcesFrom.CLOSED)
    for way in (entries.enter, entries.let_in):
        assert "only the bot's author" in world.refused(errors.NotAdmitted, way, world.boss, season_id, bot_id)
    world.write(entries.enter, owner, season_id, bot_id)
    for way in (entries.enter, entries.let_in):
        world.write(way, world.boss, season_id, world.bot(owner=world.boss)[1])


def test_an_organiser_chooses_nothing_for_the_bot_of_another(world: World) -> None:
    season_id, owner, bot_id = outside(world)
    world.version(owner, bot_id)
    with pytest.raises(errors.WrongState, match="only its author may choose"):
        world.write(entries.enter, world.boss, season_id, bot_id, 1)
    with pytest.raises(errors.WrongState, match="only its author may choose"):
        world.write(entries.enter, world.boss, season_id, bot_id, gate="none")
    assert world.write(entries.enter, world.boss, season_id, bot_id).version == 2
    for number in (1, None):
        with pytest.raises(errors.WrongState, match="its author chooses"):
            world.write(entries.enter, world.boss, season_id, bot_id, number)
    assert world.write(entries.enter, owner, season_id, bot_id, 1).version == 1
    _, own = world.bot(owner=world.boss)
    world.version(world.boss, own)
    assert [world.write(entries.enter, world.boss, season_id, own, number).version for number in (None, 1)] == [2, 1]


def test_a_version_is_chosen_again_only_after_a_pause(world: World) -> None:
    season_id, owner, bot_id = outside(world)
    world.version(owner, bot_id)
    assert [world.write(entries.enter, owner, season_id, bot_id, number).version for number in (2, 1)] == [2, 1], (
        "the entry is no choice"
    )
    world.clock.turn(world.settings.rejoin_seconds - 60)
    for number in (2, None):
        with pytest.raises(errors.TooSoon, match="changed in 60 s"):
            world.write(entries.enter, owner, season_id, bot_id, number)
    world.write(entries.enter, owner, season_id, bot_id, 1)
    world.clock.turn(60)
    assert world.write(entries.enter, owner, season_id, bot_id).version == 2
    world.version(owner, bot_id)
    assert world.plays(season_id, bot_id) == 3, "what takes over by itself is no choice"


def test_what_changes_nothing_is_not_noted(world: World) -> None:
    season_id, owner, bot_id = outside(world)
    terms = at_gate(games=10)

    def notes() -> int:
        return len(world.read(audit_log, subject=f"season/{season_id}"))

    before = notes()
    world.write(entries.enter, owner, season_id, bot_id, gate=terms)
    for _ in range(3):
        world.write(entries.enter, owner, season_id, bot_id)
        world.write(entries.enter, owner, season_id, bot_id, gate=terms)
    assert notes() == before + 1
    world.write(entries.enter, owner, season_id, bot_id, 1)
    assert notes() == before + 2, "it does not follow any more"


def test_nobody_enters_while_a_season_freezes(world: World) -> None:
    """Entering waits for the season's row, and then sees its new state."""
    season_id, owner, bot_id = outside(world)

    def freeze(session: Session) -> None:
        set_season_state(session, world.boss, season_id, SeasonState.FROZEN)

    with pytest.raises(errors.WrongState):
        world.at_once(freeze, lambda session: entries.enter(session, owner, season_id, bot_id))
    assert world.read(entries.entries, season_id) == []


def frozen(world: World, **settings: Any) -> tuple[int, person.Person, int]:
    """Freeze a season with a bot that follows its newest version; return the season, the owner and the bot."""
    season_id = world.season(0, **settings)
    owner, bot_id = world.entrant(season_id)
    world.set_state(season_id, SeasonState.FROZEN)
    return season_id, owner, bot_id


def test_a_season_that_thaws_takes_what_became_ready_while_it_was_frozen(world: World) -> None:
    season_id, owner, bot_id = frozen(world)
    world.version(owner, bot_id)
    world.version(owner, bot_id, "does not compile")
    assert world.plays(season_id, bot_id) == 1
    world.set_state(season_id, SeasonState.OPEN)
    assert world.plays(season_id, bot_id) == 2


def test_a_thaw_changes_no_version_that_an_author_chose(world: World) -> None:
    season_id, owner, bot_id = frozen(world)
    world.set_state(season_id, SeasonState.OPEN)
    world.write(entries.enter, owner, season_id, bot_id, 1)
    world.set_state(season_id, SeasonState.FROZEN)
    world.version(owner, bot_id)
    world.set_state(season_id, SeasonState.OPEN)
    assert world.plays(season_id, bot_id) == 1


@pytest.mark.parametrize(
    ("meanwhile", "build_first"),
    [*product(["its season thaws", "its bot enters"], [False, True]), ("its season freezes", False)],
)
@pytest.mark.databases
def test_a_version_that_becomes_ready_while_its_season_thaws_or_its_bot_enters_plays(
    world: World, meanwhile: str, build_first: bool
) -> None:
    thaws, freezes = meanwhile == "its season thaws", meanwhile == "its season freezes"
    season_id, owner, bot_id = frozen(world) if thaws else (world.season(0), *world.bot())
    if freezes:
        world.write(entries.enter, owner, season_id, bot_id)
    job = world.building(world.upload(owner, bot_id))

    def other(session: Session) -> None:
        if thaws or freezes:
            set_season_state(session, world.boss, season_id, SeasonState.OPEN if thaws else SeasonState.FROZEN)
        else:
            entries.enter(session, owner, season_id, bot_id)

    def build(session: Session) -> None:
        assert finish_build(session, job, BuildOutcome("b" * 64, "", ""))

    world.at_once(*((build, other) if build_first else (other, build)))
    assert world.plays(season_id, bot_id) == (1 if freezes else 2)


def test_a_new_bot_enters_the_season_of_its_upload_once_it_is_ready(world: World) -> None:
    """It never did after `submit --season N --no-wait`."""
    season_id, owner = world.season(0), world.author()
    bots = [world.write(create_bot, owner, GAME, name).id for name in ("good", "broken", "late")]
    versions = []
    for bot_id in bots:
        world.write(entries.check_wish, owner, season_id, bot_id)
        upload = Upload("bot.py", 10, f"{bot_id:064}", "python", "main.py")
        versions.append(world.write(add_version, owner, bot_id, upload, season_id).id)
    world.build(versions[0])
    world.build(versions[1], reason="broken")
    world.tick()
    assert [entry.bot for entry in world.read(entries.entries, season_id)] == ["good"]
    world.change(Season, season_id, entries_per_author=1)
    assert "the limit is 1" in world.refused(errors.TooMany, entries.check_wish, owner, season_id, bots[1])
    world.build(versions[2])
    world.tick()
    assert len(world.read(entries.entries, season_id)) == 1
    assert f"It could not enter season {season_id}: " in world.row(BotVersion, versions[2]).log


@pytest.mark.parametrize("state", [SeasonState.SCHEDULED, SeasonState.FROZEN])
def test_a_season_that_plays_no_ladder_answers_wishes_too(world: World, state: SeasonState) -> None:
    """Before its opening it takes them; one that was frozen during the build says in the version's log that it does
    not.
    """
    season_id, (owner, bot_id) = world.season(0), world.bot()
    world.change(Season, season_id, state=SeasonState.SCHEDULED)
    version_id = world.write(
        add_version, owner, bot_id, Upload("bot.py", 10, "a" * 64, "python", "main.py"), season_id
    ).id
    world.change(Season, season_id, state=state)
    world.build(version_id)
    world.tick()
    entered, told = world.read(entries.entries, season_id), world.row(BotVersion, version_id).log
    assert (len(entered), "could not enter" in told) == ((1, False) if state is SeasonState.SCHEDULED else (0, True))


def test_a_bot_is_renamed_and_described_by_its_own_author(world: World) -> None:
    owner, bot_id = world.bot("greedy")
    world.bot("other", owner=owner)
    stranger = world.author()
    with world.db.transaction() as session:
        refused(NotFound, participation.change_bot, session, stranger, bot_id, name="mine")
        found = participation.change_bot(session, owner, bot_id, name="Greedy", description="A table of\0endings.")
    assert (found.name, found.description) == ("Greedy", "A table of\N{REPLACEMENT CHARACTER}endings.")
    world.refused(NameTaken, participation.change_bot, owner, bot_id, name="OTHER")
    assert world.read(bot_info, bot_id).name == "Greedy"
    last = world.read(audit_log, subject=f"bot/{bot_id}", limit=1)[0]
    assert (last.action, last.data) == ("bot-renamed", '{"from":"greedy","to":"Greedy"}')


def test_a_retired_bot_leaves_its_seasons_and_lists_and_keeps_its_results(world: World) -> None:
    season, frozen = world.season(1), world.season(1, finals=FinalsFormat.ROUND_ROBIN)
    owner, bot_id = world.bot()
    for season_id in (season, frozen):
        world.write(entries.enter, owner, season_id, bot_id)
    played = world.play_all()
    assert played
    world.set_state(frozen, SeasonState.FROZEN)
    assert world.write(participation.change_bot, owner, bot_id, retired=True).retired_at == world.clock.now
    with world.db.transaction() as session:
        assert entries.entry_info(session, season, bot_id).absence is Absence.WITHDRAWN
        assert entries.entry_info(session, frozen, bot_id).absence is None, "from the freeze on the field stands"
        assert [bot.bot_id for bot in overview.ready_bots(session, GAME, 10) if bot.bot_id == bot_id] == []
        assert careers.author_bots(session, owner.name)[1] == []
        assert [bot.id for bot in bots_of(session, owner)] == [bot_id], "its author still sees it"
        assert len(matches.matches(session, bot_id=bot_id)) == played
    world.clock.turn(world.settings.rejoin_seconds)
    with world.db.transaction() as session:
        for act in (
            lambda: may_upload(session, owner, bot_id),
            lambda: absence.rejoin(session, owner, season, bot_id),
            lambda: entries.enter(session, owner, season, bot_id),
            lambda: take_seat(session, owner, bot_id),
        ):
            assert "retired" in refused(WrongState, act)
        assert participation.change_bot(session, owner, bot_id, retired=False).retired_at is None
        absence.rejoin(session, owner, season, bot_id)
        may_upload(session, owner, bot_id)
        assert entries.entry_info(session, season, bot_id).absence is None


def test_an_organiser_lets_in_a_bot_that_is_not_in_yet(world: World) -> None:
    season_id, owner, bot_id = outside(world, admission=Admission.NOBODY)
    world.refused(errors.NotAllowed, entries.let_in, owner, season_id, bot_id)
    assert world.write(entries.let_in, world.boss, season_id, bot_id).follows
    world.refused(errors.WrongState, entries.let_in, world.boss, season_id, bot_id)


def test_a_team_of_one_does_not_get_its_author_another_entry(world: World) -> None:
    season_id = world.season(0, entries_per_author=1)
    owner, own = world.bot()
    shared = [team_bot(world, owner, world.team(owner, name=name)) for name in ("one", "other")]
    world.write(entries.enter, owner, season_id, shared[0])
    for bot_id in (own, shared[1]):
        world.refused(errors.TooMany, entries.enter, owner, season_id, bot_id)


def test_a_new_version_in_another_language_does_not_take_over(world: World) -> None:
    season_id = world.season(0, languages=["python"])
    owner, bot_id = world.entrant(season_id)
    for language, plays in (("c", 1), ("python", 3)):
        world.version(owner, bot_id, language=language)
        assert world.plays(season_id, bot_id) == plays


def test_before_a_season_opens_versions_are_chosen_freely(world: World) -> None:
    season_id = world.write(seasons.create_season, world.boss, game=GAME, name="soon").id
    owner, bot_id = world.bot()
    world.version(owner, bot_id)
    assert [world.write(entries.enter, owner, season_id, bot_id, number).version for number in (2, 1, 2)] == [2, 1, 2]


def test_a_thaw_takes_no_version_in_another_language(world: World) -> None:
    season_id, owner, bot_id = frozen(world, languages=["python"])
    world.version(owner, bot_id, language="python")
    world.version(owner, bot_id, language="c")
    world.set_state(season_id, SeasonState.OPEN)
    assert world.plays(season_id, bot_id) == 2
