"""A newcomer's first match does not wait behind a backlog, and nobody starves."""

from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from sqlmodel import select

from deadheat.league.database import now
from deadheat.league.jobs import Failure, Host, SeriesJob
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.service.series.turns import HEAD_STARTS, claim_next_series
from deadheat.league.states import JobState, Precedence
from deadheat.league.tables import Entry, Season, Series
from tests.league.world import World, release_series

MINUTE = 60
WAITS = Series.state == JobState.QUEUED


def claim(world: World, nudged_id: int) -> SeriesJob | None:
    return world.write(claim_next_series, nudged_id, "w1", world.host)


def play(world: World, nudged_id: int) -> int:
    """Play the series that a worker claims on a message about series `nudged_id`, and return it."""
    job = claim(world, nudged_id)
    assert job is not None and world.finish(job)
    return job.series_id


def planned(world: World, *precedences: Precedence) -> list[int]:
    """Plan a series of two matches with each precedence, and return the series."""
    with world.db.transaction() as session:
        season = session.exec(select(Season)).one()
        return [first for (first,) in add_series(session, season, [Table((1, 2), 2, one) for one in precedences])]


def served(world: World, *seasons: int, minutes: int, seconds_a_match: int) -> Counter[int]:
    """Play on one slot for that long, with planning after each series, and count the matches of each season."""
    ends_at, matches = world.clock.now + timedelta(minutes=minutes), Counter[int]()
    while world.clock.now < ends_at:
        world.tick()
        job = claim(world, 0)
        assert job is not None
        for _ in job.matches:
            world.clock.turn(seconds_a_match)
        assert world.finish(job)
        matches[job.season_id] += len(job.matches)
    assert matches.keys() == {*seasons}
    return matches


def test_seasons_that_wait_are_served_alike_whatever_their_size_and_the_length_of_their_series(world: World) -> None:
    """Within any ten minutes their matches differ by a fifth at most. They were served in the order of planning."""
    large, small, long = (
        world.season(12, games_per_pair=None),
        world.season(2, games_per_pair=None),
        world.season(4, games_per_pair=None, series_length=8),
    )
    for _ in range(4):
        matches = served(world, large, small, long, minutes=10, seconds_a_match=4)
        assert max(matches.values()) <= 1.2 * min(matches.values()), matches


def test_no_more_is_drawn_ahead_than_the_next_minute_needs(world: World) -> None:
    """Sixteen series of each season waited, so the opponents in the last one had been drawn half an hour earlier."""
    seasons = [world.season(4, games_per_pair=None) for _ in range(2)]
    for minutes, seconds_a_match, waiting in ((90, 60, 2), (4, 4, 5)):
        served(world, *seasons, minutes=minutes, seconds_a_match=seconds_a_match)
        world.tick()
        for season_id in seasons:
            assert len(world.rows(select(Series.id).where(WAITS, Series.season_id == season_id))) == waiting


def test_a_new_season_does_not_make_the_others_wait_until_it_has_caught_up(world: World) -> None:
    old = world.season(4, games_per_pair=None)
    served(world, old, minutes=10, seconds_a_match=4)
    new = world.season(4, games_per_pair=None)
    matches = served(world, old, new, minutes=10, seconds_a_match=4)
    assert max(matches.values()) <= 1.2 * min(matches.values()), matches


def test_series_that_were_begun_at_the_same_moment_are_both_counted(world: World) -> None:
    first, second = (world.season(4, games_per_pair=None) for _ in range(2))
    world.tick()
    for job in [claim(world, 0) for _ in range(4)]:
        assert job is not None
        if job.season_id == first:
            world.change(Series, job.series_id, virtual_start=0)
        else:
            world.change(Series, job.series_id, virtual_start=None)
    following = [claim(world, 0) for _ in range(2)]
    assert [job.season_id for job in following if job] == [second, second]


def test_what_authors_ask_for_gets_an_eighth_of_the_slots_whatever_is_rated(world: World) -> None:
    """It waited until everything rated had been played, which an evaluation that lasts for hours never is."""
    world.season(2)
    planned(world, *[Precedence.EVALUATION] * 24)
    asked = planned(world, *[Precedence.ASKED] * 3)
    order = []
    for _ in range(20):
        job = claim(world, 0)
        assert job is not None
        world.clock.turn(MINUTE)
        assert world.finish(job)
        order.append(job.series_id)
    assert [order.index(series_id) for series_id in asked] == [1, 9, 17]


def test_a_newcomers_first_match_is_played_before_a_backlog(world: World) -> None:
    season_id = world.season(4, games_per_pair=1000)
    for series_id in world.tick():
        play(world, series_id)
    assert world.write(refit, season_id)  # all are placed now
    messages = deque(world.tick())
    _, bot_id = world.entrant(season_id)
    newcomer = world.one(select(Entry.version_id).where(Entry.season_id == season_id, Entry.bot_id == bot_id))
    seated: list[bool] = []
    while not any(seated):
        assert len(seated) < 4, "its series is planned as soon as there is room, and then it is next"
        job = claim(world, messages.popleft())
        assert job is not None and world.finish(job)
        seated.append(newcomer in job.matches[0].seats)
        messages.extend(world.tick())
    assert len(messages) > 10


def test_placement_is_played_first_and_other_series_of_new_versions_next(world: World) -> None:
    world.season(2)
    p = Precedence
    ids = planned(world, p.ORDINARY, p.NEW_VERSION, p.PLACEMENT, p.ORDINARY, p.PLACEMENT)
    order = [play(world, series_id) for series_id in ids]
    assert [ids.index(series_id) for series_id in order] == [2, 4, 1, 0, 3]


def test_what_has_waited_is_not_overtaken_for_ever(world: World) -> None:
    world.season(2)
    (old,) = planned(world, Precedence.ORDINARY)
    (placement,) = planned(world, Precedence.PLACEMENT)
    assert play(world, placement) == placement
    waited = head_start = HEAD_STARTS[Precedence.PLACEMENT].total_seconds()
    world.clock.turn(head_start - MINUTE)
    (placement,) = planned(world, Precedence.PLACEMENT)
    assert play(world, placement) == placement
    world.clock.turn(MINUTE)
    (placement,) = planned(world, Precedence.PLACEMENT)
    while play(world, placement) != old:
        world.clock.turn(MINUTE)
        waited += MINUTE
        assert waited <= head_start + 2 * MINUTE
        (placement,) = planned(world, Precedence.PLACEMENT)


def test_a_series_that_we_failed_at_waits_for_its_own_message(world: World) -> None:
    world.season(2)
    failed, other = planned(world, Precedence.PLACEMENT, Precedence.ORDINARY)
    job = claim(world, failed)
    assert job is not None
    with world.db.transaction() as session:
        release_series(session, job, "w1", Failure("container-died", "why"))
        assert session.get_one(Series, failed).state is JobState.QUEUED
        assert session.get_one(Series, failed).nudge_at > now(session)
    assert play(world, other) == other
    assert claim(world, other) is None
    assert play(world, failed) == failed


def test_a_series_that_is_handed_back_keeps_its_place(world: World) -> None:
    world.season(2)
    first, second, third = planned(world, *[Precedence.ORDINARY] * 3)
    job = claim(world, first)
    assert job is not None and job.series_id == first
    world.clock.turn(MINUTE)
    with world.db.transaction() as session:
        release_series(session, job, "w1", Failure("worker-stopped", "why"))
    assert [play(world, third) for _ in range(3)] == [first, second, third]


def test_rotations_of_deals_are_played_in_turns_with_other_tables(world: World) -> None:
    world.season(6, game="liars-dice", seats=3, series_length=6, games_per_pair=12)
    ids = world.tick()
    assert len(ids) > 3
    assert ids != sorted(ids)
    with world.db.reading() as session:
        expected = sorted(ids, key=lambda series_id: session.get_one(Series, series_id).precedence)
    assert [play(world, series_id) for series_id in reversed(ids)] == expected


def test_workers_that_ask_at_once_get_a_series_each(world: World) -> None:
    """On PostgreSQL no worker waits for another; SQLite has one writer at a time."""
    world.season(2, games_per_pair=1)
    for series_id in world.tick():
        play(world, series_id)
    planned_ids = planned(world, Precedence.ORDINARY, Precedence.ORDINARY)
    on_server = world.db.engine.dialect.name == "postgresql"
    with ThreadPoolExecutor(1) as pool:
        with world.db.transaction() as session:
            first = claim_next_series(session, planned_ids[0], "w1", world.host)
            other = pool.submit(claim, world, planned_ids[0])
            if on_server:
                other.result(timeout=30)
        second = other.result()
    assert first is not None and second is not None
    assert {first.series_id, second.series_id} == {*planned_ids}


def test_a_machine_that_may_not_judge_is_given_nothing(world: World) -> None:
    world.season(2)
    (series_id,) = planned(world, Precedence.ORDINARY)
    world.host = Host("another", "never checked")
    assert claim(world, series_id) is None
