"""Seasons, entries, and the making of series."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from sqlmodel import col, select

from deadheat.engine.chance import commitment
from deadheat.league import errors
from deadheat.league.jobs import Host
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons import entries
from deadheat.league.service.seasons.seasons import create_season, season_info
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.series.hosts import host_arrives, record_check
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.queues import queues
from deadheat.league.states import JobState, MatchState, SeasonState
from deadheat.league.tables import Attempt, BotVersion, Entry, Match, Pair, Participant, Series
from tests.league.world import GAME, World, tick


def seats(world: World) -> list[tuple[int, ...]]:
    """The versions of every match, by seat."""
    with world.db.reading() as session:
        rows = session.exec(
            select(Participant.match_id, Participant.version_id).order_by(
                col(Participant.match_id), col(Participant.seat)
            )
        ).all()
    found: dict[int, tuple[int, ...]] = {}
    for match_id, version_id in rows:
        found[match_id] = (*found.get(match_id, ()), version_id)
    return list(found.values())


def active(world: World, season_id: int, bot_id: int) -> int:
    with world.db.reading() as session:
        statement = (
            select(BotVersion.number)
            .join(Entry, col(Entry.version_id) == BotVersion.id)
            .where(Entry.season_id == season_id, Entry.bot_id == bot_id)
        )
        return session.exec(statement).one()


def enter(world: World, owner: Person, season_id: int, bot_id: int, number: int | None = None) -> None:
    world.write(entries.enter, owner, season_id, bot_id, number)


def set_state(world: World, season_id: int, state: SeasonState, *, force: bool = False) -> None:
    world.write(set_season_state, world.boss, season_id, state, force=force)


def test_every_pair_plays_its_share_and_no_more(world: World) -> None:
    world.season(3, series_length=4, games_per_pair=6)
    assert world.play_all() == 18
    assert Counter(frozenset(seated) for seated in seats(world)) == {
        frozenset({1, 2}): 6,
        frozenset({1, 3}): 6,
        frozenset({2, 3}): 6,
    }


@pytest.mark.parametrize(
    ("game", "seats", "length", "wished", "played"),
    [("liars-dice", 2, 3, 5, 4), ("liars-dice", 2, 2, 1, 2), (GAME, 2, 4, 5, 5)],
)
def test_a_season_says_how_many_matches_are_really_played(
    world: World, game: str, seats: int, length: int, wished: int, played: int
) -> None:
    season_id = world.season(3, game=game, seats=seats, series_length=length, games_per_pair=wished)
    season = world.read(season_info, season_id)
    assert season.plays.games_per_pair == played
    assert world.play_all() == 3 * played
    assert (f"{played} of each pair, not {wished}" in season.rounded) == (played != wished)


def test_seats_change_with_every_game_of_a_pair(world: World) -> None:
    world.season(2, series_length=3, games_per_pair=6)
    world.play_all()
    assert seats(world) == [(1, 2), (2, 1)] * 3


def test_only_so_many_series_are_open_at_a_time(world: World) -> None:
    world.season(4, series_length=1, games_per_pair=100)
    assert len(world.tick()) == OPEN_SERIES
    assert world.tick() == []


def has_slots(world: World, host: Host, slots: int, *reasons: str) -> None:
    """A machine arrives and is checked: unfit where there are reasons."""
    world.write(host_arrives, host, "image")
    world.write(record_check, host, {"slots": slots}, reasons, 60)


def test_the_bound_of_open_series_follows_the_slots_that_judge(world: World) -> None:
    world.season(4, series_length=1, games_per_pair=100)
    limit = OPEN_SERIES
    has_slots(world, Host("big", "boot"), 30)
    has_slots(world, Host("unfit", "boot"), 100, "Too much noise.")
    assert len(world.tick()) == limit + 2 * 30, "all 31 slots play, and as many series wait"
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


@pytest.mark.databases
def test_two_schedulers_at_once_plan_as_one(world: World) -> None:
    world.season(5, series_length=1, games_per_pair=100)
    planned: list[int] = []
    barrier = threading.Barrier(4)

    def schedule() -> None:
        db = world.connect()
        barrier.wait()
        with db.transaction() as session:
            planned.extend(tick(session))

    threads = [threading.Thread(target=schedule) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(planned) == len(set(planned)) == OPEN_SERIES
    with world.db.reading() as session:
        games = session.exec(select(Pair.games)).all()
        waiting = session.exec(select(Entry.waiting_since)).all()
    assert sum(games) == len(planned)
    assert max(since or 0 for since in waiting) == len(planned)


def test_seeds_are_secret_and_committed_to(world: World) -> None:
    season_id = world.season()
    series_id = world.tick()[0]
    with world.db.reading() as session:
        rows = session.exec(select(Match)).all()
        shown = league_matches.matches(session, season_id=season_id)
    assert len({row.seed for row in rows}) == len(rows)
    assert all(row.commitment == commitment(row.seed) for row in rows)
    assert all(match.seed is None and match.commitment for match in shown)
    job = world.claimed(series_id)
    assert world.finish(job)
    done = world.read(league_matches.matches, season_id=season_id, state=MatchState.DONE)
    assert [match.seed for match in done[::-1]] == [match.seed.hex() for match in job.matches]


def test_nothing_is_planned_where_fewer_than_two_can_play(world: World) -> None:
    world.season(1)
    assert world.tick() == []


def test_closing_drops_what_waits_and_counts_what_runs(world: World) -> None:
    season_id = world.season(3, games_per_pair=2)
    first, *others = world.tick()
    job = world.claimed(first)
    with pytest.raises(errors.Unsettled, match=r"Season 1 has 4 matches still to be played\."):
        set_state(world, season_id, SeasonState.CLOSED)
    set_state(world, season_id, SeasonState.CLOSED, force=True)
    assert world.claim(others[0]) is None
    assert world.tick() == []
    assert world.finish(job)
    with world.db.reading() as session:
        found = {row.id: row.state for row in session.exec(select(Series))}
        matches = Counter(session.exec(select(Match.state)).all())
        causes = session.exec(select(Attempt.cause).where(col(Attempt.match_id).is_(None))).all()
    assert found[first] is JobState.DONE
    assert {found[other] for other in others} == {JobState.ABANDONED}
    assert matches == {MatchState.DONE: 2, MatchState.ABANDONED: 4}
    assert causes == ["season-closed"] * 2


def test_a_closed_season_stays_closed(world: World) -> None:
    season_id = world.season()
    set_state(world, season_id, SeasonState.CLOSED)
    set_state(world, season_id, SeasonState.CLOSED)
    with pytest.raises(errors.WrongState):
        set_state(world, season_id, SeasonState.OPEN)


def test_two_seasons_have_two_names(world: World) -> None:
    for name, expected in (("Winter", None), ("WINTER", errors.NameTaken)):
        if expected is None:
            create(world, name)
        else:
            with pytest.raises(expected):
                create(world, name)


def create(world: World, name: str, game: str = GAME) -> None:
    world.write(create_season, world.boss, game=game, name=name, series_length=1, games_per_pair=None)


def test_a_new_version_takes_over_once_it_is_ready(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot()
    enter(world, owner, season_id, bot_id)
    second = world.upload(owner, bot_id)
    assert active(world, season_id, bot_id) == 1
    world.build(second)
    assert active(world, season_id, bot_id) == 2
    world.build(world.upload(owner, bot_id), "does not compile")
    assert active(world, season_id, bot_id) == 2


def test_an_older_build_that_ends_later_does_not_take_over(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot()
    enter(world, owner, season_id, bot_id)
    second, third = world.upload(owner, bot_id), world.upload(owner, bot_id)
    world.build(third)
    world.build(second)
    assert active(world, season_id, bot_id) == 3


def test_a_chosen_version_stays(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot()
    enter(world, owner, season_id, bot_id, 1)
    world.build(world.upload(owner, bot_id))
    assert active(world, season_id, bot_id) == 1
    enter(world, owner, season_id, bot_id)
    assert active(world, season_id, bot_id) == 2


def test_who_may_not_enter(world: World) -> None:
    season_id, closed = world.season(0), world.season(0)
    set_state(world, closed, SeasonState.CLOSED)
    owner, bot_id = world.bot()
    with pytest.raises(errors.WrongState, match="closed"):
        enter(world, owner, closed, bot_id)
    with pytest.raises(errors.NotFound):
        enter(world, world.author(), season_id, bot_id)
    with pytest.raises(errors.NotFound):
        enter(world, owner, 999, bot_id)
    with pytest.raises(errors.NotFound):
        enter(world, owner, season_id, bot_id, 7)
    unbuilt = world.upload(owner, bot_id)
    assert unbuilt
    with pytest.raises(errors.NotReady, match="version 2 is uploaded"):
        enter(world, owner, season_id, bot_id, 2)


def test_a_bot_that_is_not_built_cannot_enter(world: World) -> None:
    season_id, owner = world.season(0), world.author()
    bot_id = world.write(create_bot, owner, GAME, "fresh").id
    with pytest.raises(errors.NotReady, match="there are no uploads"):
        enter(world, owner, season_id, bot_id)
    world.build(world.upload(owner, bot_id), "main.c:3: expected ';'\nmore of it")
    with pytest.raises(errors.NotReady, match=r"the newest is broken: main.c:3: expected ';'.$"):
        enter(world, owner, season_id, bot_id)
