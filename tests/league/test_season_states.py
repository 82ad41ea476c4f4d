"""Seasons change their states by date and by hand."""

import json
from collections import Counter
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, col, select

from deadheat.engine.chance import commitment
from deadheat.league import errors
from deadheat.league.jobs import Host
from deadheat.league.records.seasons import Season as SeasonInfo
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.jobs import builds, sweep
from deadheat.league.service.rankings import standings
from deadheat.league.service.seasons import entries, seasons
from deadheat.league.service.series import capacity, hosts
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.queues import queues
from deadheat.league.states import Admission, FinalsFormat, JobState, MatchState, Ranks, SeasonState
from deadheat.league.tables import Attempt, Match, RatingSnapshot, Series
from tests.league.clock import START
from tests.league.people import GAME
from tests.league.world import World, tick

S = SeasonState


def create(world: World, name: str = "Winter", game: str = GAME, **settings: object) -> SeasonInfo:
    return world.write(seasons.create_season, world.boss, game=game, name=name, **settings)  # type: ignore[arg-type]


def edit(world: World, season_id: int, **settings: object) -> SeasonInfo:
    return world.write(seasons.edit_season, world.boss, season_id, **settings)  # type: ignore[arg-type]


def info(world: World, season_id: int) -> SeasonInfo:
    return world.read(seasons.season_info, season_id)


def hours(*numbers: float) -> list[datetime]:
    return [START + timedelta(hours=number) for number in numbers]


WAYS = {
    S.SCHEDULED: {S.OPEN, S.CLOSED},
    S.OPEN: {S.FROZEN, S.FINALS, S.CLOSED},
    S.FROZEN: {S.OPEN, S.FINALS, S.CLOSED},
    S.FINALS: {S.CLOSED},
    S.CLOSED: set[SeasonState](),
}
"""From each state, the states that an organiser may choose."""
TO = {S.SCHEDULED: (), S.OPEN: (S.OPEN,), S.FROZEN: (S.OPEN, S.FROZEN), S.FINALS: (S.OPEN, S.FINALS)}


@pytest.mark.parametrize("before", WAYS)
def test_by_hand_a_season_goes_only_these_ways(world: World, before: SeasonState) -> None:
    for after in S:
        season_id = create(world, f"to {after}", finals=FinalsFormat.SWISS).id
        world.set_state(season_id, *TO.get(before, (before,)))
        with nullcontext() if after in {before, *WAYS[before]} else pytest.raises(errors.WrongState):
            world.set_state(season_id, after, force=True)
            assert info(world, season_id).state is after


def test_by_date_a_season_goes_through_all_states(world: World) -> None:
    opens, freezes, finals, closes = hours(1, 2, 3, 4)
    season_id = create(
        world, opens_at=opens, freezes_at=freezes, finals_at=finals, closes_at=closes, finals=FinalsFormat.ROUND_ROBIN,
        closes_when_done=False,
    ).id  # fmt: skip
    seen = []
    for _ in range(5):
        world.write(standings.refit, season_id)
        world.tick()
        seen.append(info(world, season_id).state)
        world.write(standings.refit, season_id)
        world.tick()  # finals end once it is known that they have no finalists
        world.clock.turn(3600)
    assert seen == list(SeasonState)


def test_dates_that_passed_while_nobody_looked_are_made_up_for_in_order(world: World) -> None:
    opens, freezes, closes = hours(1, 2, 3)
    season_id = create(world, opens_at=opens, freezes_at=freezes, closes_at=closes).id
    world.clock.turn(10 * 3600)
    world.tick()
    assert info(world, season_id).state is S.CLOSED
    noted = [entry.action for entry in world.read(audit_log, subject=f"season/{season_id}")]
    assert noted == ["season-closed", "season-frozen", "season-open", "season-created"]


def test_a_season_that_nobody_opened_does_not_close_by_itself(world: World) -> None:
    season_id = create(world, closes_at=hours(1)[0]).id
    world.clock.turn(2 * 3600)
    world.tick()
    assert info(world, season_id).state is S.SCHEDULED


@pytest.mark.parametrize("date", ["freezes_at", "finals_at", "closes_at"])
def test_a_season_is_thawed_only_after_the_date_that_would_end_it_has_moved(world: World, date: str) -> None:
    season_id = create(world, finals=FinalsFormat.SWISS).id
    edit(world, season_id, **{date: hours(1)[0]})
    world.set_state(season_id, S.OPEN, S.FROZEN)
    world.clock.turn(3600)
    with pytest.raises(errors.BadSetting, match=date):
        world.set_state(season_id, S.OPEN)
    edit(world, season_id, **{date: hours(5)[0]})
    world.set_state(season_id, S.OPEN)
    assert info(world, season_id).state is S.OPEN
    world.tick()
    assert info(world, season_id).state is S.OPEN


@pytest.mark.databases
def test_a_date_that_is_moved_while_the_scheduler_looks_ends_nothing(world: World) -> None:
    season_id = create(world, closes_at=hours(1)[0]).id
    world.set_state(season_id, S.OPEN)
    world.clock.turn(3600)

    def move(session: Session) -> None:
        seasons.edit_season(session, world.boss, season_id, closes_at=hours(5)[0])

    world.at_once(move, tick)
    assert info(world, season_id).state is S.OPEN


def test_finals_are_begun_only_where_they_were_chosen(world: World) -> None:
    season_id = world.season(0)
    with pytest.raises(errors.BadSetting, match="finals"):
        world.set_state(season_id, S.FINALS)


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"seats": 3}, "seats"),
        ({"languages": ["cobol"]}, "languages"),
        ({"languages": []}, "languages"),
        ({"freezes_at": hours(2)[0], "closes_at": hours(1)[0]}, "closes_at"),
        ({"opens_at": hours(2)[0], "finals_at": hours(2)[0], "finals": FinalsFormat.SWISS}, "finals_at"),
        ({"finals_at": hours(2)[0]}, "finals_at"),
        ({"divisions": [("A", 4), ("a", None)]}, "divisions"),
        ({"divisions": [(str(number), None) for number in range(21)]}, "divisions"),
    ],
)
def test_a_season_that_could_not_be_run_is_not_made(world: World, settings: dict[str, Any], setting: str) -> None:
    with pytest.raises(errors.BadSetting) as caught:
        create(world, **settings)
    assert caught.value.setting == setting


def test_round_robin_finals_are_for_two_seats(world: World) -> None:
    with pytest.raises(errors.BadSetting, match="swiss"):
        create(world, game="liars-dice", seats=4, finals=FinalsFormat.ROUND_ROBIN)
    assert create(world, game="liars-dice", seats=4, finals=FinalsFormat.SWISS).seats == 4


@pytest.mark.parametrize(
    ("setting", "value", "still", "no_more"),
    [
        ("ranks", Ranks.WINS, (), (S.OPEN,)),
        ("games_per_pair", 50, (S.OPEN, S.FROZEN), (S.OPEN, S.FINALS)),
        ("admission", Admission.NOBODY, (S.OPEN, S.FROZEN), (S.CLOSED,)),
        ("finals_top", 8, (S.OPEN, S.FROZEN), (S.OPEN, S.FINALS)),
        ("finals_extra_games", 99, (S.OPEN, S.FINALS), (S.CLOSED,)),
    ],
)
def test_a_setting_changes_as_long_as_it_is_fair(
    world: World, setting: str, value: object, still: tuple[SeasonState, ...], no_more: tuple[SeasonState, ...]
) -> None:
    for number, states in enumerate((still, no_more)):
        season_id = create(world, f"season {number}", finals=FinalsFormat.SWISS).id
        if states:
            world.set_state(season_id, *states)
        if states is still:
            assert getattr(edit(world, season_id, **{setting: value}), setting) == value
        else:
            with pytest.raises(errors.BadSetting, match=setting):
                edit(world, season_id, **{setting: value})


def test_what_is_set_to_what_it_is_already_is_no_change(world: World) -> None:
    season_id = create(world, games_per_pair=4).id
    world.set_state(season_id, S.CLOSED)
    edit(world, season_id, games_per_pair=4)
    assert world.read(audit_log)[0].action == "season-closed"


def test_edits_are_noted(world: World) -> None:
    before = create(world)
    season_id = before.id
    edit(world, season_id, name="Spring", closes_at=hours(1)[0])
    assert info(world, season_id).name == "Spring"
    noted = world.read(audit_log)[0]
    assert noted.action == "season-edited"
    was = {"closes_at": None, "name": before.name}
    assert json.loads(noted.data) == {"closes_at": "2026-01-01T13:00:00+00:00", "name": "Spring", "was": was}


def test_a_frozen_season_plays_on_but_takes_nobody_and_nothing_new(world: World) -> None:
    season_id = world.season(2, games_per_pair=8)
    owner, bot_id = world.entrant(season_id)
    _, other = world.bot(owner=owner)
    world.set_state(season_id, S.FROZEN)
    world.version(owner, bot_id)
    for entering in (bot_id, other):
        assert "frozen" in world.refused(errors.WrongState, entries.enter, owner, season_id, entering)
    assert (world.play_all(), {entry.version for entry in world.read(entries.entries, season_id)}) == (3 * 8, {1})


def test_standings_are_published_when_the_last_series_has_ended(world: World) -> None:
    season_id = world.season(3)
    job = world.claimed(world.tick()[0])
    world.set_state(season_id, S.CLOSED, force=True)
    assert world.read(standings.seasons_to_publish) == []
    assert not world.write(standings.publish, season_id)
    assert info(world, season_id).published_at is None
    assert world.finish(job)
    assert world.read(standings.seasons_to_publish) == [season_id]
    assert world.write(standings.publish, season_id)
    assert world.read(standings.seasons_to_publish) == []
    assert not world.write(standings.publish, season_id)
    found = info(world, season_id)
    board = world.read(standings.leaderboard, season_id)
    assert world.read(audit_log)[0].action == "season-published"
    assert board.final
    assert (found.published_at, found.log_sha256) == (world.clock.now, board.log_sha256)
    assert board.standings["totals"]["matches"] == len(job.matches)


def test_a_series_that_was_lost_after_the_close_is_played_before_the_standings_are_published(world: World) -> None:
    season_id = world.season(2)
    first, *_ = world.tick()
    assert world.claim(first) is not None
    world.set_state(season_id, S.CLOSED, force=True)
    world.clock.turn(world.settings.lease_seconds + 1)
    world.write(sweep.sweep)
    assert world.read(standings.seasons_to_publish) == []
    assert world.finish(world.claimed(first))
    assert world.read(standings.seasons_to_publish) == [season_id]


SECOND_EDITION = """
    INSERT INTO rating_snapshot (season_id, log_sha256, config, standings, final, created_at)
    SELECT season_id, '', config, standings, final, created_at FROM rating_snapshot WHERE final
"""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rating_snapshot SET standings = '{}' WHERE season_id = :season AND final",
        "UPDATE rating_snapshot SET final = false WHERE season_id = :season",
        "DELETE FROM rating_snapshot WHERE season_id = :season",
        SECOND_EDITION,
    ],
)
def test_the_database_keeps_published_standings_as_they_are(world: World, statement: str) -> None:
    season_id = world.season(2)
    world.publish(season_id)
    with pytest.raises(DBAPIError), world.db.engine.begin() as connection:
        connection.execute(text(statement), {"season": season_id})


def test_nothing_is_ranked_after_the_standings_were_published(world: World) -> None:
    season_id = world.season(2)
    world.publish(season_id)
    with world.db.transaction() as session:
        session.exec(text("UPDATE season SET log_serial = log_serial + 1"))  # type: ignore[call-overload]
        assert standings.seasons_to_refit(session) == []
    with world.db.transaction() as session:
        assert not standings.refit(session, season_id)
        assert session.exec(select(RatingSnapshot.final)).all() == [True]


@pytest.mark.parametrize(
    ("game", "seats", "length", "wished", "played"),
    [("liars-dice", 2, 3, 5, 4), ("liars-dice", 2, 2, 1, 2), (GAME, 2, 4, 5, 5)],
)
def test_a_season_says_how_many_matches_are_really_played(
    world: World, game: str, seats: int, length: int, wished: int, played: int
) -> None:
    season_id = world.season(3, game=game, seats=seats, series_length=length, games_per_pair=wished)
    season = world.read(seasons.season_info, season_id)
    assert season.plays.games_per_pair == played
    assert world.play_all() == 3 * played
    assert (f"{played} of each pair, not {wished}" in season.rounded) == (played != wished)


def has_slots(world: World, host: Host, slots: int, *reasons: str) -> None:
    """Let a machine with `slots` slots arrive and be checked; any `reasons` make it unfit."""
    world.write(hosts.host_arrives, host, "image")
    world.write(hosts.record_check, host, {"slots": slots}, reasons, 60)


def test_the_bound_of_open_series_follows_the_slots_that_judge(world: World) -> None:
    world.season(4, series_length=1, games_per_pair=100)
    assert len(world.tick()) == capacity.OPEN_SERIES
    assert world.tick() == []
    has_slots(world, Host("big", "boot"), 30)
    has_slots(world, Host("unfit", "boot"), 100, "Too much noise.")
    assert len(world.tick()) == 2 * 30, "all 31 slots play, and as many series wait"
    world.clock.turn(world.settings.lease_seconds + 1)  # the big one is gone
    assert world.tick() == []


def test_slots_that_idle_beside_unplayed_matches_are_told(world: World) -> None:
    def told() -> tuple[int, int]:
        found = world.read(queues)
        return found.slots, found.idle_slots

    has_slots(world, world.host, 4)
    assert told() == (4, 0), "nothing is to be played"
    world.season(2, series_length=1, games_per_pair=2)
    assert told() == (4, 4), "nobody has planned yet"
    first, second = world.tick()
    job = world.claim(first)
    assert told() == (4, 3), "one waits for a slot"
    other = world.claim(second)
    assert told() == (4, 0), "what is left is being played"
    assert job is not None and other is not None
    assert world.finish(job) and world.finish(other)
    assert told() == (4, 0)


def test_closing_drops_what_waits_and_counts_what_runs(world: World) -> None:
    season_id = world.season(3, games_per_pair=2)
    first, *others = world.tick()
    job = world.claimed(first)
    with pytest.raises(errors.Unsettled, match="4 matches still to be played"):
        world.set_state(season_id, SeasonState.CLOSED)
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    assert world.claim(others[0]) is None
    assert world.tick() == []
    assert world.finish(job)
    found = {row.id: row.state for row in world.rows(select(Series))}
    matches = Counter(world.rows(select(Match.state)))
    causes = world.rows(select(Attempt.cause).where(col(Attempt.match_id).is_(None)))
    assert found[first] is JobState.DONE
    assert {found[other] for other in others} == {JobState.ABANDONED}
    assert (matches, causes) == ({MatchState.DONE: 2, MatchState.ABANDONED: 4}, ["season-closed"] * 2)


def test_only_an_owner_enters_a_bot_with_a_version_that_is_ready_in_an_open_season(world: World) -> None:
    season_id, closed = world.season(0), world.season(0)
    world.set_state(closed, SeasonState.CLOSED)
    owner, bot_id = world.bot()
    world.upload(owner, bot_id)
    for refusal, who, season, number in (
        (errors.WrongState, owner, closed, None),
        (errors.NotFound, world.author(), season_id, None),
        (errors.NotFound, owner, 999, None),
        (errors.NotFound, owner, season_id, 7),
        (errors.NotReady, owner, season_id, 2),
    ):
        world.refused(refusal, entries.enter, who, season, bot_id, number)


def test_a_bot_that_is_not_built_cannot_enter(world: World) -> None:
    season_id, owner = world.season(0), world.author()
    bot_id = world.write(create_bot, owner, GAME, "fresh").id
    assert "there are no uploads" in world.refused(errors.NotReady, entries.enter, owner, season_id, bot_id)
    world.version(owner, bot_id, "main.c:3: expected ';'\nmore of it")
    with pytest.raises(errors.NotReady, match=r"main.c:3: expected ';'.$"):
        world.write(entries.enter, owner, season_id, bot_id)


def test_two_seasons_have_two_names(world: World) -> None:
    world.write(seasons.create_season, world.boss, game=GAME, name="Winter")
    world.refused(errors.NameTaken, seasons.create_season, world.boss, game=GAME, name="WINTER")


def test_a_new_version_takes_over_once_it_is_ready(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.entrant(season_id)
    second, third, broken = (world.upload(owner, bot_id) for _ in range(3))
    assert world.plays(season_id, bot_id) == 1
    world.build(third)
    assert world.plays(season_id, bot_id) == 3
    world.build(second)
    world.build(broken, "does not compile")
    assert world.plays(season_id, bot_id) == 3


def test_seeds_are_secret_and_committed_to(world: World) -> None:
    season_id = world.season()
    series_id = world.tick()[0]
    rows = world.rows(select(Match))
    shown = world.read(league_matches.matches, season_id=season_id)
    assert len({row.seed for row in rows}) == len(rows)
    assert all(row.commitment == commitment(row.seed) for row in rows)
    assert all(match.seed is None and match.commitment for match in shown)
    job = world.claimed(series_id)
    assert world.finish(job)
    done = world.read(league_matches.matches, season_id=season_id, state=MatchState.DONE)
    assert [match.seed for match in done[::-1]] == [match.seed.hex() for match in job.matches]


def test_a_chosen_version_stays(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot()
    world.write(entries.enter, owner, season_id, bot_id, 1)
    world.version(owner, bot_id)
    assert world.plays(season_id, bot_id) == 1
    world.write(entries.enter, owner, season_id, bot_id)
    assert world.plays(season_id, bot_id) == 2


@pytest.mark.databases
def test_a_version_that_becomes_ready_while_its_season_freezes_stays_out(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.entrant(season_id)
    job = world.building(world.upload(owner, bot_id))
    world.at_once(
        lambda session: set_season_state(session, world.boss, season_id, S.FROZEN),
        lambda session: builds.finish_build(session, job, builds.BuildOutcome("e" * 64, "", "log")),
    )
    assert world.plays(season_id, bot_id) == 1
