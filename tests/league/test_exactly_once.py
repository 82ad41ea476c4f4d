"""Every result counts once, whatever happens to messages and workers."""

import logging
import threading
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import event
from sqlmodel import Session, col, select

from deadheat.league.causes import BLAMELESS, Cause, Trait
from deadheat.league.jobs import Failure, SeriesJob
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs import builds, sweep
from deadheat.league.service.series import carrying_out, hosts
from deadheat.league.service.tables import programs, sitting
from deadheat.league.states import Fitness, JobState, MatchState, VersionState
from deadheat.league.tables import MOST_WORD, Attempt, BotVersion, Match, Participant, Series
from tests.league.ground import in_threads
from tests.league.outcomes import won
from tests.league.world import World, release_series


def queued(world: World) -> int:
    world.season(games_per_pair=2)
    return world.tick()[0]


def results(world: World, series_id: int) -> list[tuple[int, int, int | None]]:
    statement = (
        select(Participant.match_id, Participant.seat, Participant.rank)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(Match.series_id == series_id)
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    return world.rows(statement)


def causes(world: World, series_id: int) -> list[str]:
    return world.rows(select(Attempt.cause).where(Attempt.series_id == series_id).order_by(col(Attempt.id)))


def state(world: World, series_id: int) -> JobState:
    return world.row(Series, series_id).state


@pytest.mark.databases
def test_a_series_is_claimed_by_one_worker_and_not_after_its_end(world: World) -> None:
    series_id = queued(world)
    job = world.claimed(series_id, "w1")
    assert world.claim(series_id, "w2") is None
    assert world.finish(job)
    assert world.claim(series_id, "w2") is None


@pytest.mark.databases
def test_of_many_workers_at_once_one_gets_the_series(world: World) -> None:
    series_id = queued(world)
    jobs: list[SeriesJob | None] = []
    barrier = threading.Barrier(6, timeout=60)

    def race(number: int) -> None:
        db = world.connect()
        barrier.wait()
        jobs.append(world.claim(series_id, f"w{number}", db))
        db.close()

    in_threads(*(partial(race, number) for number in range(6)))
    assert (len([job for job in jobs if job is not None]), len(jobs)) == (1, 6)


@pytest.mark.databases
def test_writers_of_many_connections_never_find_the_database_locked(world: World) -> None:
    world.season(4, series_length=1, games_per_pair=8)
    series_ids = world.tick()
    finished: list[bool] = []

    def work(part: list[int]) -> None:
        db = world.connect()
        for series_id in part:
            job = world.claimed(series_id, "w", db)
            with db.transaction() as session:
                assert carrying_out.renew_series(session, job)
            finished.append(world.finish(job, db=db))
        db.close()

    in_threads(*(partial(work, series_ids[number::4]) for number in range(4)))
    assert finished == [True] * len(series_ids)


@pytest.mark.databases
def test_a_killed_workers_series_is_played_again_and_counted_once(world: World) -> None:
    series_id = queued(world)
    first = world.claimed(series_id, "killed")
    world.clock.turn(world.settings.lease_seconds + 1)
    world.write(sweep.sweep)
    assert state(world, series_id) is JobState.QUEUED
    world.clock.turn(world.settings.retry_seconds)
    assert world.enqueued() == [series_id]
    second = world.claimed(series_id, "w2")
    assert second.attempt == first.attempt + 1
    assert [match.seed for match in second.matches] == [match.seed for match in first.matches]
    assert world.finish(second, worker="w2")
    assert causes(world, series_id) == ["lease-expired", "played", "played"]
    assert len(results(world, series_id)) == 4


@pytest.mark.databases
def test_a_late_finisher_changes_nothing(world: World) -> None:
    series_id = queued(world)
    paused = world.claimed(series_id, "paused")
    world.clock.turn(world.settings.lease_seconds + 1)
    world.write(sweep.sweep)
    second = world.claimed(series_id, "w2")
    late = [won(match, winner=1) for match in paused.matches]
    assert not world.finish(paused, late, "paused")  # while the second one plays
    assert state(world, series_id) is JobState.RUNNING
    assert world.finish(second, [won(match, winner=0) for match in second.matches], "w2")
    before = results(world, series_id), causes(world, series_id)
    assert not world.finish(paused, late, "paused")  # and after it
    assert (results(world, series_id), causes(world, series_id)) == before
    assert [rank for _, seat, rank in before[0] if seat == 0] == [1, 1]


@pytest.mark.databases
def test_nothing_is_stored_of_a_seat_that_nobody_had(world: World) -> None:
    job = world.claimed(queued(world))
    known = won(job.matches[0])
    latency = replace(known.latencies[0], seat=2)
    for invented in (replace(known, exits={2: known.exits[0]}), replace(known, latencies=(latency,))):
        with pytest.raises(AssertionError):
            world.finish(job, [invented])
    assert world.finish(job)


@pytest.mark.databases
def test_a_lost_lease_cannot_be_renewed_or_given_back(world: World) -> None:
    series_id = queued(world)
    paused = world.claimed(series_id, "paused")
    assert world.write(carrying_out.renew_series, paused)
    world.clock.turn(world.settings.lease_seconds + 1)
    world.write(sweep.sweep)
    assert not world.write(carrying_out.renew_series, paused)
    assert world.claim(series_id, "w2") is not None
    world.write(release_series, paused, "paused", Failure("worker-stopped"))
    assert state(world, series_id) is JobState.RUNNING


@pytest.mark.databases
def test_a_sweep_that_finds_nothing_lost_asks_once_and_one_that_does_takes_it_up(world: World) -> None:
    asked: list[str] = []
    series_id = queued(world)
    world.claim(series_id)
    owner, bot_id = world.playing_bot()
    version_id = world.upload(owner, bot_id)
    exhibition_id = world.write(sitting.take_seat, owner, bot_id)

    def swept() -> dict[Life, list[int]]:
        return world.write(sweep.sweep)

    event.listen(world.write(Session.get_bind), "before_cursor_execute", lambda *what: asked.append(str(what[2])))
    assert not any(swept().values())
    assert [statement.split()[0] for statement in asked if not statement.startswith("BEGIN")] == ["SELECT"]
    world.clock.turn(world.settings.requeue_seconds + 1)
    found = swept()
    assert (found[builds.BUILDS], found[programs.TABLES]) == ([version_id], [exhibition_id])
    assert causes(world, series_id) == ["lease-expired"]
    world.clock.turn(world.settings.retry_seconds + 1)
    assert {life: row_ids for life, row_ids in swept().items() if row_ids} == {carrying_out.SERIES: [series_id]}


@pytest.mark.databases
def test_a_renewed_lease_is_not_taken_back(world: World) -> None:
    series_id = queued(world)
    job = world.claimed(series_id)
    for _ in range(5):
        world.clock.turn(world.settings.lease_seconds * 0.8)
        assert world.write(carrying_out.renew_series, job)
        world.write(sweep.sweep)
    assert state(world, series_id) is JobState.RUNNING
    assert world.finish(job)


@pytest.mark.databases
def test_a_lost_message_is_sent_again(world: World) -> None:
    series_id = queued(world)
    assert world.enqueued() == []
    world.clock.turn(world.settings.requeue_seconds)
    assert world.enqueued() == [series_id]
    assert world.enqueued() == []  # not every sweep enqueues it
    world.clock.turn(world.settings.requeue_seconds)
    assert world.enqueued() == [series_id]


def test_the_matches_of_a_series_that_we_fail_too_often_are_held_and_alarmed(world: World, caplog) -> None:
    series_id = queued(world)
    for number in range(1, carrying_out.SERIES_ATTEMPTS + 1):
        job = world.claimed(series_id)
        assert job.attempt == number
        world.write(release_series, job, "w1", Failure("container-died", "something stayed", {"try": number}))
    assert state(world, series_id) is JobState.ABANDONED
    assert world.claim(series_id) is None
    assert causes(world, series_id) == ["container-died"] * carrying_out.SERIES_ATTEMPTS
    matches = world.rows(select(Match).where(Match.series_id == series_id))
    assert {(match.state, match.rated) for match in matches} == {(MatchState.HELD, False)}
    assert [record.levelno for record in caplog.records if "abandoned" in record.message] == [logging.ERROR]


@pytest.mark.parametrize("cause", sorted(BLAMELESS))
def test_a_series_waits_out_what_is_no_fault_of_its_own(world: World, cause: str) -> None:
    series_id = queued(world)
    for number in range(1, 3 * carrying_out.SERIES_ATTEMPTS):
        job = world.claimed(series_id)
        assert job.attempt == number
        with world.db.transaction() as session:
            release_series(session, job, "w1", Failure(cause, "it is away"))
            hosts.record_check(session, world.host, {}, (), 0)  # the machine has come back
        pause = world.row(Series, series_id).nudge_at - world.clock.now
        assert pause.total_seconds() <= 2 * world.settings.retry_seconds, "it is played soon after the outage"
    assert state(world, series_id) is JobState.QUEUED
    assert causes(world, series_id) == [cause] * (3 * carrying_out.SERIES_ATTEMPTS - 1)


@pytest.mark.parametrize("cause", sorted(Cause.having(Trait.MACHINE)))
def test_a_machine_that_cannot_even_try_is_given_nothing_until_it_was_checked(world: World, cause: str) -> None:
    world.season(3, games_per_pair=2)
    first, second, *_ = world.tick()
    job = world.claimed(first)
    with world.db.transaction() as session:
        release_series(session, job, "w1", Failure(cause, "nothing starts"))
        assert hosts.due_check(session, world.host) is Fitness.UNCHECKED
    assert world.claim(second) is None
    world.write(hosts.record_check, world.host, {}, (), 0)
    assert world.claim(second) is not None


def test_each_failure_of_ours_waits_longer_for_the_next_try(world: World) -> None:
    series_id = queued(world)
    for number in (1, 2, 3):
        world.write(release_series, world.claimed(series_id), "w1", Failure("container-died"))
        world.clock.turn(world.settings.retry_seconds * 2 ** (number - 1) - 1)
        assert world.enqueued() == []
        world.clock.turn(1)
        assert world.enqueued() == [series_id]


@pytest.mark.databases
def test_a_build_is_claimed_once_and_finished_once(world: World) -> None:
    version_id = uploaded(world)
    job = world.building(version_id, "w1")
    assert world.write(builds.claim_build, version_id, "w2") is None
    world.clock.turn(world.settings.lease_seconds + 1)
    world.write(sweep.sweep)
    with world.db.transaction() as session:
        again = builds.claim_build(session, version_id, "w2")
        assert again is not None
        assert not builds.finish_build(session, job, builds.BuildOutcome(None, "late", ""))
        assert not builds.renew_build(session, job) and builds.renew_build(session, again)
        assert builds.finish_build(session, again, builds.BuildOutcome("e" * 64, "", ""))
    version = world.row(BotVersion, version_id)
    assert (version.state, version.program_sha256) == (VersionState.READY, "e" * 64)


def test_a_build_that_we_fail_is_tried_again_after_longer_and_longer_pauses(world: World) -> None:
    version_id = uploaded(world)
    pauses, reason = [], ""
    for _ in range(builds.FAILURES_TOLD + 8):
        job = world.building(version_id, "w1")
        world.write(builds.give_back_build, job.version_id, job.attempt, "w1", Failure("no-engine", "nothing answers"))
        version = world.row(BotVersion, version_id)
        assert version.state is VersionState.UPLOADED
        pauses.append((version.nudge_at - world.clock.now).total_seconds())
        reason = version.reason
    assert (pauses[:4], pauses[-1]) == ([5, 10, 20, 40], 3600)
    assert "attempt 13" in reason
    job = world.building(version_id, "w1")
    assert world.write(builds.finish_build, job, builds.BuildOutcome("e" * 64, "", "", "f" * 64))
    version = world.row(BotVersion, version_id)
    assert (version.state, version.reason, version.trial_sha256) == (VersionState.READY, "", "f" * 64)


def test_from_the_fifth_failure_at_a_build_on_an_operator_is_told(world: World, caplog) -> None:
    version_id = uploaded(world)
    with caplog.at_level(logging.ERROR):
        for number in range(1, builds.FAILURES_TOLD + 2):
            fail_build(world, version_id, "no-engine")
            told = [record for record in caplog.records if "could not be built" in record.message]
            assert len(told) == max(0, number - builds.FAILURES_TOLD + 1)


@pytest.mark.databases
def test_a_long_cause_of_a_failed_build_is_cut_like_every_other(world: World) -> None:
    fail_build(world, uploaded(world), "x" * (MOST_WORD + 1))
    assert world.rows(select(Attempt.cause)) == ["x" * MOST_WORD]


def fail_build(world: World, version_id: int, cause: str) -> None:
    job = world.building(version_id, "w1")
    world.write(builds.give_back_build, job.version_id, job.attempt, "w1", Failure(cause, "why"))


def test_a_build_that_is_handed_back_in_order_counts_as_no_failure(world: World) -> None:
    version_id = uploaded(world)
    pauses = []
    for cause in ("no-engine", Cause.WORKER_STOPPED, Cause.WORKER_STOPPED, "no-engine"):
        fail_build(world, version_id, cause)
        version = world.row(BotVersion, version_id)
        pauses.append((version.nudge_at - world.clock.now).total_seconds())
        assert bool(version.reason) is (cause != Cause.WORKER_STOPPED)
    assert pauses == [5, 0, 0, 10]


def uploaded(world: World) -> int:
    owner = world.author()
    return world.upload(owner, world.write(create_bot, owner, "yacht-auction", "late").id)


@pytest.mark.databases
def test_a_failed_transaction_leaves_the_series_to_the_same_attempt(world: World) -> None:
    series_id = queued(world)
    job = world.claimed(series_id)

    def finish_without_power() -> None:
        with world.db.transaction() as session:
            assert carrying_out.finish_series(session, job, "w1", [won(match) for match in job.matches])
            raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="power"):
        finish_without_power()
    assert state(world, series_id) is JobState.RUNNING
    assert all(rank is None for _, _, rank in results(world, series_id))
    assert world.finish(job)
