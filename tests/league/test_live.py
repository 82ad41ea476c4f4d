"""Matches can be watched while they are played."""

import pytest
from sqlmodel import select

from deadheat.engine.core import Reply
from deadheat.engine.games import GAMES
from deadheat.engine.unfinished import unfinished
from deadheat.league.errors import NotFound
from deadheat.league.jobs import Failure, SeriesJob
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.series import live
from deadheat.league.service.series.live import Watched
from deadheat.league.service.views.overview import running_series
from deadheat.league.states import JobState, MatchState
from deadheat.league.tables import LiveMatch
from tests.league.outcomes import void
from tests.league.world import World, release_series

READY = {0: Reply("OK", 5), 1: Reply("OK", 6)}
BIDS = {0: Reply("BID A 100", 7), 1: Reply("BID B 200", 8)}


def running(world: World) -> SeriesJob:
    world.season()
    return world.claimed(world.tick()[0])


def show(world: World, job: SeriesJob, *replies: dict[int, Reply]) -> bool:
    return world.write(live.show, job, job.matches[0].match_id, replies)


def watch(world: World, match_id: int) -> Watched:
    return world.read(live.watch, match_id)


def test_a_running_match_is_shown_as_far_as_it_has_come(world: World) -> None:
    job = running(world)
    match_id = job.matches[0].match_id
    assert watch(world, match_id).match is None
    assert show(world, job, READY)
    first = watch(world, match_id)
    assert first.match is not None and [event["type"] for event in first.match.events()] == ["roll"]
    assert show(world, job, READY, BIDS)
    second = watch(world, match_id)
    assert second.match is not None
    assert [event["type"] for event in second.match.events()] == ["roll", "auction", "roll"]
    assert first.version != second.version
    assert [series.live_match_id for series in world.read(running_series, 10)] == [match_id]
    assert watch(world, job.matches[1].match_id).match is None, "only one match of a series is played at a time"


def test_spectators_hear_of_an_attempt_that_failed_and_see_the_other_dice(world: World) -> None:
    job = running(world)
    assert show(world, job, READY)
    first = watch(world, job.matches[0].match_id)
    assert first.match is not None and first.voids == 0
    assert world.finish(job, [void(job.matches[0])])
    assert show(world, world.claimed(job.series_id), READY)
    seen = watch(world, job.matches[0].match_id)
    assert seen.match is not None and seen.voids == 1
    assert list(seen.match.events()) != list(first.match.events())


def test_nothing_is_left_when_the_series_ends(world: World) -> None:
    job = running(world)
    assert show(world, job, READY)
    assert world.finish(job)
    seen = watch(world, job.matches[0].match_id)
    assert (seen.match, seen.state, seen.series) == (None, MatchState.DONE, JobState.DONE)
    assert not show(world, job, READY), "who comes late changes nothing"


@pytest.mark.parametrize("how", ["given back", "taken back"])
def test_nothing_is_left_of_a_series_that_waits_again(world: World, how: str) -> None:
    job = running(world)
    assert show(world, job, READY)
    if how == "given back":
        world.write(release_series, job, "w1", Failure("container-died", "it went away"))
    else:
        world.clock.turn(world.settings.lease_seconds + 1)
        world.write(sweep)
    seen = watch(world, job.matches[0].match_id)
    assert (seen.match, seen.series) == (None, JobState.QUEUED)
    again = world.claimed(job.series_id)
    assert not show(world, job, READY, BIDS), "its lease is lost"
    assert show(world, again, READY)


def test_what_a_worker_writes_late_is_not_shown_with_the_next_attempts_dice(world: World) -> None:
    """The worker's attempt ends just before it writes."""
    job = running(world)
    match_id = job.matches[0].match_id
    assert show(world, job, READY)
    late = world.one(select(LiveMatch)).model_dump()
    assert world.finish(job, [void(job.matches[0])])
    world.write(lambda session: session.add(LiveMatch(**late)))
    assert watch(world, match_id).match is None, "it waits"
    again = world.claimed(job.series_id)
    assert watch(world, match_id).match is None, "it has other dice"
    assert show(world, again, READY)
    assert watch(world, match_id).match is not None


def test_what_is_told_has_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = running(world)
    assert show(world, job, READY)
    monkeypatch.setattr(live, "MOST_SHOWN_BYTES", 60)
    assert not show(world, job, READY, BIDS)
    seen = watch(world, job.matches[0].match_id).match
    assert seen is not None
    assert len(seen.exchanges) == 2, "what was shown stays"


def test_replies_that_the_rules_here_do_not_know_are_not_shown(world: World) -> None:
    job = running(world)
    assert show(world, job, READY, {0: Reply("OK", 1)})
    assert watch(world, job.matches[0].match_id).match is None


def test_hands_and_seeds_stay_hidden(world: World) -> None:
    world.season(game="liars-dice", series_length=2, games_per_pair=2)
    first, second = (world.claim(series_id) for series_id in world.tick())
    assert first is not None and second is not None and first.matches[0].seed == second.matches[0].seed
    for job in (first, second):
        assert show(world, job, READY)
    for job in (first, second):
        seen = watch(world, job.matches[0].match_id)
        assert seen.withheld and seen.match is None, "the other rotation of the deal is being played"
    assert [series.live_match_id for series in world.read(running_series, 10)] == [None, None]
    assert world.finish(second)
    job = first
    seen = watch(world, job.matches[0].match_id)
    assert seen.match is not None, "no other match with these dice is to be played any more"
    assert [event["type"] for event in seen.match.events()] == ["round"]
    whole = unfinished(GAMES["liars-dice"], 2, job.matches[0].seed, [READY])
    assert [event["type"] for event in whole.events()] == ["round", "hand", "hand"]
    seed = job.matches[0].seed
    assert repr(seed) not in repr(seen) and seed.hex() not in repr(seen)


def test_there_is_no_watching_what_is_not_there(world: World) -> None:
    with pytest.raises(NotFound):
        watch(world, 99)
