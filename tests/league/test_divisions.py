"""A season may have divisions, and bots change them with the next season."""

import json
from typing import Any

import pytest

from deadheat.league import errors
from deadheat.league.records.entries import Entry
from deadheat.league.records.seasons import Season as SeasonInfo
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings import standings
from deadheat.league.service.rulings import closing
from deadheat.league.service.seasons import absence, admission, entries, participation, seasons
from deadheat.league.service.seasons.divisions import assign_division, change_divisions, moved
from deadheat.league.service.seasons.entries import Gate
from deadheat.league.service.views.former import challenges
from deadheat.league.states import Admission, ChallengeState, SeasonState
from tests.league.outcomes import higher_wins, lower_wins
from tests.league.people import GAME
from tests.league.refusals import refused
from tests.league.seasons import at_gate
from tests.league.world import World

TWO = (("First", 3), ("Second", None))


def assign(world: World, season_id: int, number: int, *bots: int) -> None:
    for bot_id in bots:
        world.write(assign_division, world.boss, season_id, bot_id, number)


def played_out(world: World, *, bots: int = 6, **settings: Any) -> int:
    """Publish a season of two divisions, in which the bot with the higher number always wins."""
    settings["games_per_pair"] = 2
    season_id = world.season(bots, divisions=TWO, **settings)
    assign(world, season_id, 1, 1, 2, 3)
    world.play_all(higher_wins)
    world.publish(season_id)
    return season_id


def following(world: World, season_id: int, name: str = "next", **settings: Any) -> SeasonInfo:
    return world.write(seasons.create_season, world.boss, name=name, previous_id=season_id, **settings)


def divisions(world: World, season_id: int) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for entry in world.read(entries.entries, season_id):
        found.setdefault(entry.division, []).append(entry.bot_id)
    return [found[number] for number in sorted(found)]


def change(world: World, season_id: int, *wanted: tuple[str, int | None]) -> None:
    world.write(change_divisions, world.boss, season_id, wanted)


def test_until_a_season_opens_its_divisions_may_be_others(world: World) -> None:
    season_id = world.write(seasons.create_season, world.boss, game="yacht-auction", name="S", divisions=TWO).id
    for _ in range(5):
        world.entrant(season_id)
    assign(world, season_id, 1, 1, 2)
    change(world, season_id, ("A", None), ("B", None), ("C", 2))
    assert divisions(world, season_id) == [[1, 2], [3, 4, 5]]
    assert "B would hold 3 entries" in refused(errors.BadSetting, change, world, season_id, ("A", None), ("B", 2))
    assert "its own name" in refused(errors.BadSetting, change, world, season_id, ("A", None), ("a", None))
    change(world, season_id)
    assert divisions(world, season_id) == [[1, 2, 3, 4, 5]]
    with world.db.transaction() as session:
        assert [division.name for division in seasons.season_info(session, season_id).divisions] == ["Division 1"]
        assert audit_log(session, subject=f"season/{season_id}")[0].action == "divisions-changed"
        set_season_state(session, world.boss, season_id, SeasonState.OPEN)
    assert "because the season is open" in refused(errors.BadSetting, change, world, season_id, *TWO)


def test_newcomers_begin_in_the_lowest_division(world: World) -> None:
    season_id = world.season(2, divisions=TWO)
    assert divisions(world, season_id) == [[1, 2]]
    found = world.read(seasons.season_info, season_id).divisions
    assert [(row.number, row.name, row.size, row.entries) for row in found] == [(1, *TWO[0], 0), (2, *TWO[1], 2)]


def test_an_organiser_puts_bots_where_there_is_room(world: World) -> None:
    season_id = world.season(5, divisions=TWO)
    assign(world, season_id, 1, 1, 2, 3)
    assert "First" in refused(errors.TooMany, assign, world, season_id, 1, 4)
    assign(world, season_id, 1, 3)  # the bot is already there
    refused(errors.NotFound, assign, world, season_id, 3, 4)
    world.refused(errors.NotAllowed, assign_division, world.author(), season_id, 4, 1)
    assert divisions(world, season_id) == [[1, 2, 3], [4, 5]]


def test_nobody_changes_divisions_in_a_frozen_season(world: World) -> None:
    season_id = world.season(1, divisions=TWO)
    world.set_state(season_id, SeasonState.FROZEN)
    refused(errors.WrongState, assign, world, season_id, 1, 1)


def test_a_full_lowest_division_takes_nobody(world: World) -> None:
    season_id = world.season(2, divisions=[("Only", 2)])
    owner, bot_id = world.bot()
    assert "the limit is 2" in world.refused(errors.TooMany, entries.enter, owner, season_id, bot_id)


def test_the_next_season_moves_the_first_up_and_the_last_down(world: World) -> None:
    season_id = played_out(world, promoted=1)
    placed = [(row["division"], row["rank"], row["bot_id"]) for row in world.ranking(season_id)]
    assert placed == [(1, 1, 3), (1, 2, 2), (1, 3, 1), (2, 1, 6), (2, 2, 5), (2, 3, 4)]
    following_id = following(world, season_id).id
    assert divisions(world, following_id) == [[2, 3, 6], [1, 4, 5]]
    world.set_state(following_id, SeasonState.OPEN)
    assert world.tick()


def test_settings_and_the_list_of_invited_authors_go_over_and_dates_do_not(world: World) -> None:
    season_id = played_out(world, promoted=1, entries_per_author=2, languages=["python"])
    world.author("ada")
    world.write(admission.invite_to_season, world.boss, season_id, "ada")
    made = following(world, season_id, entries_per_author=5, admission=Admission.INVITED)
    assert world.write(admission.invited_to_season, world.boss, made.id) == ["ada"]
    assert (made.entries_per_author, made.languages, made.promoted, made.opens_at) == (5, ["python"], 1, None)
    assert [(row.name, row.size) for row in made.divisions] == list(TWO)


def entered(world: World, *gate: Gate) -> tuple[int, Person, int]:
    """Open a season and enter a bot; return the season, the owner and the bot."""
    season_id = world.season(0)
    owner, bot_id = world.bot()
    world.write(entries.enter, owner, season_id, bot_id, None, *gate)
    return season_id, owner, bot_id


def entry_of(world: World, season_id: int, bot_id: int) -> Entry:
    return world.read(entries.entry_info, season_id, bot_id)


def test_a_bot_that_follows_begins_with_its_newest_version(world: World) -> None:
    season_id, owner, bot_id = entered(world)
    world.publish(season_id)
    world.version(owner, bot_id)
    assert entry_of(world, following(world, season_id).id, bot_id).version == 2


@pytest.mark.parametrize("gates", [True, False])
def test_a_gate_is_kept_and_nothing_passes_it_between_two_seasons(world: World, gates: bool) -> None:
    """In a season without gates the newest version plays, as always."""
    season_id, owner, bot_id = entered(world, at_gate(games=2))
    world.version(owner, bot_id)
    assert world.finish(world.claimed())  # they win once each
    world.tick()
    (failed,) = world.read(challenges, owner, season_id, bot_id)
    assert failed.state is ChallengeState.FAILED
    world.publish(season_id)
    world.version(owner, bot_id)
    chosen: dict[str, Any] = {} if gates else {"challenge_games": 0}
    following_id = following(world, season_id, **chosen).id
    entry = entry_of(world, following_id, bot_id)
    assert (entry.version, entry.gated, entry.challenger) == (1 if gates else 3, True, None)
    world.set_state(following_id, SeasonState.OPEN)
    entry = entry_of(world, following_id, bot_id)
    assert (entry.version, entry.challenger) == ((1, 3) if gates else (3, None))


@pytest.mark.parametrize("number", [None, 3])
def test_a_season_of_fewer_languages_takes_over_what_is_in_them(world: World, number: int | None) -> None:
    """A bot without a version in these languages stays out for any `number` its author chose, and the log says so."""
    season_id = world.season(0)
    bots = []
    for other in ("python", "c"):
        owner = world.author()
        bot_id = world.write(create_bot, owner, GAME, "bot").id
        for language in ("c", other, "c"):
            world.version(owner, bot_id, language=language)
        world.write(entries.enter, owner, season_id, bot_id, number)
        bots.append(bot_id)
    world.publish(season_id)
    following_id = following(world, season_id, languages=["python"]).id
    assert (divisions(world, following_id), entry_of(world, following_id, bots[0]).version) == ([bots[:1]], 2)
    noted = {entry.action: json.loads(entry.data) for entry in world.read(audit_log)}
    assert noted["entries-carried-over"] == {"from": season_id, "divisions": {"1": bots[:1]}, "left_out": bots[1:]}


def test_what_failed_at_its_gate_is_not_taken_over_for_its_language_either(world: World) -> None:
    season_id, owner, bot_id = entered(world)  # version 1 is in Python
    world.version(owner, bot_id, language="c")
    world.write(entries.enter, owner, season_id, bot_id, None, at_gate(games=2))
    world.version(owner, bot_id)
    assert world.finish(world.claimed(world.tick()[0]))
    world.tick()
    assert (entry_of(world, season_id, bot_id).version, entry_of(world, season_id, bot_id).challenger) == (2, None)
    world.publish(season_id)
    assert entry_of(world, following(world, season_id, languages=["python"]).id, bot_id).version == 1


def test_bots_that_were_disqualified_or_retired_or_whose_authors_were_banned_are_not_taken_over(world: World) -> None:
    season_id = world.season(2)
    world.write(absence.disqualify, world.boss, season_id, 2, "caught")
    bots = [world.bot(name) for name in ("retired", "banned", "stays")]
    for owner, bot_id in bots:
        world.write(entries.enter, owner, season_id, bot_id)
    world.publish(season_id)
    world.write(participation.change_bot, *bots[0], retired=True)
    world.write(closing.ban, closing.OPERATOR, bots[1][0].name, "wrote insults")
    assert divisions(world, following(world, season_id).id) == [[1, bots[2][1]]]
    assert "account" in world.refused(errors.WrongState, entries.let_in, world.boss, world.season(1), bots[1][1])


def test_a_season_that_continues_another_is_of_its_game_and_has_its_divisions(world: World) -> None:
    season_id = played_out(world)
    for wrong in ({"game": "betris-large"}, {"divisions": [("Only", None)]}):
        world.refused(errors.BadSetting, seasons.create_season, world.boss, name="next", previous_id=season_id, **wrong)


@pytest.mark.parametrize(
    ("orders", "promoted", "after"),
    [
        ([[1, 2, 3], [4, 5, 6]], 0, [[1, 2, 3], [4, 5, 6]]),
        ([[1, 2, 3], [4, 5, 6]], 1, [[1, 2, 4], [5, 6, 3]]),
        ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], 2, [[1, 2, 5, 6], [3, 4, 9, 10], [11, 12, 7, 8]]),
        ([[1, 2, 3, 4], [5, 6, 7, 8]], 9, [[1, 2, 5, 6], [7, 8, 3, 4]]),  # at most half of a division moves
        ([[1, 2, 3], [4]], 2, [[1, 2, 3], [4]]),  # half of a division of one is nobody
        ([[], [1, 2]], 1, [[], [1, 2]]),
    ],
)
def test_promotion_and_relegation(orders: list[list[int]], promoted: int, after: list[list[int]]) -> None:
    found = moved(orders, promoted, range(99))
    assert [sorted(division) for division in found] == [sorted(division) for division in after]
    assert [len(division) for division in found] == [len(division) for division in orders]


def test_a_bot_that_has_not_played_is_not_promoted() -> None:
    assert moved([[1, 2, 3, 4], [5, 6, 7, 8]], 2, {1, 2, 3, 4, 5}) == [[1, 2, 3, 5], [6, 7, 8, 4]]
    assert moved([[1, 2], [3, 4]], 1, {1, 2}) == [[1, 2], [3, 4]]


def test_two_seasons_on_the_bot_that_went_up_may_come_down_again(world: World) -> None:
    second = following(world, played_out(world, promoted=1), "second").id
    world.set_state(second, SeasonState.OPEN)
    world.play_all(lower_wins)
    world.publish(second)
    third = following(world, second, "third")
    assert (third.previous_id, divisions(world, third.id)) == (second, [[1, 2, 3], [4, 5, 6]])


def test_a_season_continues_only_one_that_is_published(world: World) -> None:
    assert "published" in refused(errors.WrongState, following, world, world.season(2))
    refused(errors.NotFound, following, world, 99)


def test_a_bot_that_came_too_late_to_play_stays_in_its_division(world: World) -> None:
    season_id = world.season(4, divisions=(("First", 2), ("Second", None)), promoted=1, games_per_pair=2)
    assign(world, season_id, 1, 1, 2)
    with world.db.transaction() as session:
        for bot_id in (3, 4):
            absence.disqualify(session, world.boss, season_id, bot_id, "not here yet")
    world.play_all()
    with world.db.transaction() as session:
        for bot_id in (3, 4):
            absence.reinstate(session, world.boss, season_id, bot_id, "here")
        set_season_state(session, world.boss, season_id, SeasonState.CLOSED)
    with world.db.transaction() as session:
        assert standings.publish(session, season_id)
        ranks = [row["rank"] for row in standings.leaderboard(session, season_id).standings["rows"]]
    assert (ranks, divisions(world, following(world, season_id).id)) == ([1, 1, None, None], [[1, 2], [3, 4]])
