"""Void attempts leave traces, may need an organiser, and show whose matches fail unusually often."""

from typing import Any

import pytest
from sqlmodel import select

from deadheat.league.errors import BadSetting, NotAllowed, Unsettled, WrongState
from deadheat.league.jobs import Failure, Host, SeriesJob
from deadheat.league.records.rulings import VersionVoids
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.rankings import standings
from deadheat.league.service.rulings.rulings import decide_match, held_matches, leave_match, rejudge_match, void_match
from deadheat.league.service.series.carrying_out import claim_series, finish_series
from deadheat.league.service.series.hosts import due_check, host_arrives, host_seen, record_check
from deadheat.league.service.series.turns import turn_away_series
from deadheat.league.service.views import voids
from deadheat.league.service.views.matches import match_detail
from deadheat.league.service.views.voids import Share, excesses, season_voids
from deadheat.league.states import Fitness, JobState, MatchState, SeasonState
from deadheat.league.tables import Attempt, Match, Participant, Series, WorkerHost
from tests.league.outcomes import void, won
from tests.league.world import World

OTHER = Host("other", "boot")
ALL = select(Match).order_by("id")


def begun(world: World, length: int = 3) -> SeriesJob:
    world.season(2, series_length=length, games_per_pair=length)
    return world.claimed()


def states(world: World) -> list[MatchState]:
    return [match.state for match in world.rows(ALL)]


def claim(world: World, series_id: int, host: Host) -> SeriesJob | None:
    with world.db.transaction() as session:
        job = claim_series(session, series_id, f"{host.name}:1", host)
        if job is None:
            turn_away_series(session, series_id, host)
    return job


def due_in(world: World, series_id: int) -> float:
    return (world.row(Series, series_id).nudge_at - world.clock.now).total_seconds()


def held(world: World) -> int:
    """Make a match that waits for an organiser, the first of its series."""
    job = begun(world, 1)
    assert world.finish(job, [void(job.matches[0], seat=0)])
    again = world.claimed(job.series_id)
    assert world.finish(again, [void(again.matches[0], seat=0)])
    return job.matches[0].match_id


def arrive(world: World, host: Host) -> None:
    world.write(host_arrives, host, "image")
    world.write(record_check, host, {}, (), 0)


def test_what_was_played_before_a_void_match_counts_and_the_rest_is_played_with_other_dice(world: World) -> None:
    job = begun(world)
    first, second, _ = job.matches
    assert world.finish(job, [won(first), void(second)])
    assert states(world) == ["done", "scheduled", "scheduled"]
    again = world.claimed(job.series_id)
    assert [(match.match_id, match.attempt) for match in again.matches] == [(second.match_id, 2), (3, 1)]
    assert world.finish(again)
    assert states(world) == ["done"] * 3
    lines = world.read(match_detail, second.match_id).attempts
    assert [(line.cause, line.seed_number) for line in lines] == [("host-memory", 1), ("played", 2)]


def test_another_machine_plays_what_one_has_failed_at_if_one_is_there(world: World) -> None:
    arrive(world, OTHER)
    job = begun(world)
    assert world.finish(job, [void(job.matches[0])])
    assert due_in(world, job.series_id) == 0
    assert claim(world, job.series_id, world.host) is None
    assert due_in(world, job.series_id) == world.settings.retry_seconds, "and it is told of again"
    assert claim(world, job.series_id, OTHER) is not None


@pytest.mark.parametrize("seconds", [0, 601])
def test_where_no_other_machine_takes_it_the_same_one_plays_it(world: World, seconds: float) -> None:
    if seconds:
        arrive(world, OTHER)
    job = begun(world)
    assert world.finish(job, [void(job.matches[0])])
    assert due_in(world, job.series_id) == (0 if seconds else world.settings.retry_seconds)
    world.clock.turn(seconds)
    world.write(host_seen, OTHER)
    assert claim(world, job.series_id, world.host) is not None


def test_a_machine_on_which_a_watch_ended_is_unfit_until_its_check_passes_and_its_results_stay(world: World) -> None:
    world.season(3, series_length=2, games_per_pair=2)
    first, second, *_ = world.tick()
    job, beside = world.claim(first), world.claim(second)
    assert job is not None and beside is not None
    assert world.finish(job, [won(job.matches[0]), void(job.matches[1], "watch-ended", seat=1)])
    assert world.claim(first) is None
    with world.db.transaction() as session:
        assert session.get_one(WorkerHost, world.host.name).fitness is Fitness.UNFIT
        assert due_check(session, world.host) is Fitness.UNFIT
    assert world.finish(beside), "no verdict was wrong"
    world.write(record_check, world.host, {}, (), 0)
    assert world.claim(first) is not None


def test_a_match_is_held_when_the_same_seat_was_to_answer_in_two_void_attempts(world: World) -> None:
    job = begun(world, 1)
    assert world.finish(job, [void(job.matches[0], seat=0)])
    for seat, state in ((1, "scheduled"), (0, "held")):
        assert states(world) == ["scheduled"]
        again = world.claimed(job.series_id)
        assert world.finish(again, [void(again.matches[0], seat=seat)])
        assert states(world) == [state]


def test_after_five_void_attempts_a_match_is_held(world: World) -> None:
    job = begun(world, 1)
    for attempt in range(1, world.settings.match_attempts):
        assert job.matches[0].attempt == attempt
        assert world.finish(job, [void(job.matches[0])])
        assert states(world) == ["scheduled"]
        job = world.claimed(job.series_id)
    assert world.finish(job, [void(job.matches[0])])
    assert world.claim(job.series_id) is None
    assert states(world) == ["held"]


def test_decided_against_a_seat_it_counts_like_a_forfeit(world: World) -> None:
    match_id = held(world)
    world.refused(BadSetting, decide_match, world.boss, match_id, 2, "no such seat")
    world.write(decide_match, world.boss, match_id, 0, "its children fill the machine")
    (match,) = world.rows(ALL)
    assert (match.state, match.rated, match.transcript_sha256) == (MatchState.DECIDED, True, None)
    with world.db.transaction() as session:
        ranks = session.exec(select(Participant.rank, Participant.points).order_by("seat")).all()
        assert list(ranks) == [(2, None), (1, None)]
        assert standings.refit(session, match.season_id)
        assert standings.leaderboard(session, match.season_id).standings["totals"]["rated"] == 1
        assert void_match(session, world.boss, match_id, "too harsh")
    world.refused(WrongState, leave_match, world.boss, match_id, "it is decided")


def test_a_season_does_not_close_silently_over_a_held_match(world: World) -> None:
    held(world)
    (match,) = world.rows(ALL)
    with pytest.raises(Unsettled, match="1 match held for an organiser"):
        world.set_state(match.season_id, SeasonState.CLOSED)
    world.set_state(match.season_id, SeasonState.CLOSED, force=True)
    assert states(world) == ["abandoned"]


def test_nothing_is_published_while_a_match_of_a_closed_season_is_held(world: World) -> None:
    job = begun(world, 1)
    assert world.finish(job, [void(job.matches[0], seat=0)])
    again = world.claimed(job.series_id)
    (match,) = world.rows(ALL)
    world.set_state(match.season_id, SeasonState.CLOSED, force=True)
    assert world.finish(again, [void(again.matches[0], seat=0)])
    assert world.write(standings.seasons_to_publish) == []
    world.write(decide_match, world.boss, match.id, 0, "its own doing")
    assert world.write(standings.seasons_to_publish) == [match.season_id]


IN_EVERY_SERIES = [Share(version, 1, 200, 0) for version in range(1, 10)] + [
    Share(version, 1, 20, 8 if version == 1 else 1, True) for version in range(1, 10)
]
SHARES = {
    "nearly all": ([Share(1, 1, 100, 12), Share(2, 1, 100, 1), Share(3, 1, 200, 1)], [1]),
    "in every series that fails": (IN_EVERY_SERIES, [1]),
    "on a bad machine": ([Share(1, 7, 100, 30), Share(2, 7, 100, 30), Share(3, 8, 1000, 0), Share(1, 8, 1000, 0)], []),
    "few": ([Share(1, 1, 10, 2), Share(2, 1, 10000, 0)], []),
    "alone": ([Share(1, 1, 50, 20)], []),
    "equal shares": ([Share(version, 1, 100, 5) for version in range(4)], []),
}


@pytest.mark.parametrize(("shares", "flagged"), SHARES.values(), ids=SHARES)
def test_a_version_with_far_more_void_attempts_than_others_there_is_flagged(shares: list[Share], flagged: Any) -> None:
    assert [found.version_id for found in excesses(shares) if found.flagged] == flagged


def test_an_excess_is_compared_with_the_others_rate() -> None:
    first, *others = excesses(IN_EVERY_SERIES)
    assert (first.version_id, first.attempts, first.voids, first.by_machine) == (1, 200, 8, {1: 8})
    assert first.expected == pytest.approx(20 * 8 / 160) and len(others) == 8
    assert excesses(SHARES["nearly all"][0])[0].expected == pytest.approx(100 * 2 / 300)
    assert [found.expected for found in excesses(SHARES["equal shares"][0])] == pytest.approx([5.0] * 4)
    assert excesses(SHARES["alone"][0])[0].p_value == pytest.approx(1.0)


def test_void_attempts_are_counted_by_the_version_that_was_to_answer(world: World) -> None:
    job = begun(world, 2)
    first, second = job.matches
    with world.db.transaction() as session:
        outcomes = [won(first), void(second, seat=1)]
        assert finish_series(session, job, f"{world.host.name}:7", outcomes)
    (found,) = world.read(season_voids, world.boss, 1)
    excess = found
    assert (excess.version_id, excess.attempts, excess.voids) == (second.seats[1], 2, 1)
    assert (excess.by_machine, found.match_ids) == ({1: 1}, (second.match_id,))


def failed(world: World, cause: str) -> list[VersionVoids]:
    """Let a series fail three times, the first time after one match, on the only machine; return its voids."""
    job = begun(world, 3)
    assert world.write(finish_series, job, f"{world.host.name}:7", [won(job.matches[0])], Failure(cause, "it is away"))
    for _ in range(2):
        world.write(record_check, world.host, {}, (), 0)
        job = world.claimed(job.series_id)
        assert world.write(finish_series, job, f"{world.host.name}:8", [], Failure(cause, "it went away"))
    return world.read(season_voids, world.boss, 1)


@pytest.mark.parametrize("cause", ["engine", "container-died", "lease-expired"])
def test_a_series_that_fails_as_a_whole_is_counted_to_its_versions_once_for_a_machine(world: World, cause: str) -> None:
    found = failed(world, cause)
    assert len(found) == 2
    for one in found:
        assert (one.attempts, one.voids, one.by_machine) == (1, 1, {1: 1})
        assert one.match_ids == (world.rows(ALL)[0].id,), "where the ledger of the series is shown"


@pytest.mark.parametrize("cause", ["blobs-away", "database-away", "worker-stopped", "host-unfit", "no-engine"])
def test_what_no_bot_can_bring_about_is_not_counted(world: World, cause: str) -> None:
    assert failed(world, cause) == []


def test_only_the_newest_attempts_are_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(world, "engine") != []
    monkeypatch.setattr(voids, "NEWEST", 1)
    with world.db.transaction() as session:
        assert len(season_voids(session, world.boss, 1)) == 2
        session.add(Attempt(version_id=1, attempt=1, cause="played", finished_at=world.clock.now))
        session.flush()
        assert season_voids(session, world.boss, 1) == []


def test_a_failure_of_the_whole_series_changes_the_dice_of_every_match_that_is_left(world: World) -> None:
    job = begun(world)
    assert world.write(finish_series, job, "w1", [won(job.matches[0])], Failure("engine", "it went away"))
    world.write(record_check, world.host, {}, (), 0)
    assert [match.attempt for match in world.claimed(job.series_id).matches] == [2, 2]
    assert world.rows(ALL)[0].attempt == 1


def test_played_again_it_is_another_match_with_dice_of_its_own(world: World) -> None:
    again = world.write(rejudge_match, world.boss, held(world), "the machine was full")
    job = world.claimed(world.enqueued())
    assert [(match.match_id, match.attempt) for match in job.matches] == [(again, 1)]
    assert job.matches[0].seed != world.rows(ALL)[0].seed
    assert world.finish(job)
    assert states(world) == ["abandoned", "done"]


def test_left_unplayed_it_counts_for_nobody_and_the_reason_stands_in_the_audit_log(world: World) -> None:
    match_id = held(world)
    world.write(leave_match, world.boss, match_id, "nobody can tell")
    assert states(world) == ["abandoned"]
    left, was_held = world.read(audit_log, subject=f"match/{match_id}")
    assert (left.action, was_held.action) == ("match-left", "match-held")
    assert "nobody can tell" in left.data


def test_a_held_match_is_listed_with_everything_that_happened_to_it(world: World) -> None:
    match_id = held(world)
    assert world.rows(select(Series.state)) == [JobState.DONE]
    (found,) = world.read(held_matches, world.boss)
    assert found.id == match_id
    assert [(one.cause, one.seat, one.seed_number) for one in found.attempts] == [("host-memory", 0, n) for n in (1, 2)]
    with pytest.raises(NotAllowed):
        world.read(held_matches, world.author())
