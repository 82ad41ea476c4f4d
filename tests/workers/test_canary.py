"""Canary matches: bots with known verdicts detect a referee that judges wrongly, and its machine stops judging."""

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from sqlmodel import func, select

from deadheat.engine.core import Fault, Message, Reply, TransportError
from deadheat.engine.own_time import Evidence
from deadheat.league.records.hosts import Worker
from deadheat.league.service.series.hosts import record_check
from deadheat.league.states import Fitness, JobState
from deadheat.league.tables import Attempt, Match
from deadheat.sandbox import pipes
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.host.check import REFERENCE_WATCH_NS
from deadheat.sandbox.pipes import PipeTransport
from deadheat.workers import canary
from deadheat.workers.canary import SCRIPT, play_canary, play_canary_when_due
from deadheat.workers.context import Context
from deadheat.workers.play import play_series
from tests.league.ground import settings
from tests.stillness import judged, unless_still
from tests.workers.conftest import PlayingWorld

CPUS = sorted(os.sched_getaffinity(0))[:2]
ORDERS = {order for orders in SCRIPT for order in orders.values()}
GUILTY = {order.line for order in ORDERS if order.guilty}
INNOCENT = {order.line for order in ORDERS} - GUILTY


def settled(world: PlayingWorld) -> Worker:
    """Play canaries on a fit machine until one is not void, as all attempts may be on a busy host."""
    with world.db.transaction() as session:
        record_check(session, world.host, {}, (), 0)
    for _ in range(10):
        before = world.machine().canary_voids
        play_canary(world.context, CPUS, 7)
        if world.machine().canary_voids - before < canary.ATTEMPTS:
            return world.machine()
    pytest.fail("every attempt at ten canary matches was void")


def lie(monkeypatch: pytest.MonkeyPatch, about: str, reply: Reply) -> None:
    """Let the referee record this reply to prompts that begin like this, whatever the bot did."""
    exchange = PipeTransport.exchange

    def lying(self: PipeTransport, messages: list[Message]) -> dict[int, Reply]:
        true = exchange(self, messages)
        lines = {message.seat: message.line for message in messages}
        return {seat: reply if lines[seat].startswith(about) else said for seat, said in true.items()}

    monkeypatch.setattr(PipeTransport, "exchange", lying)


def test_where_verdicts_are_as_they_should_be_the_machine_stays_fit(world: PlayingWorld) -> None:
    def attempt() -> None:
        failures = world.machine().canary_failures
        found = settled(world)
        judged((found.fitness, found.reasons, found.canary_failures) == (Fitness.FIT, (), failures), found)
        assert found.canaries > 0

    unless_still(attempt)
    with world.db.reading() as session:  # it does not appear in the log of results
        assert session.exec(select(func.count()).select_from(Match)).one() == 0
        assert session.exec(select(func.count()).select_from(Attempt)).one() == 0
    assert world.left_behind() == []


@pytest.mark.parametrize("about", sorted(INNOCENT))
def test_an_innocent_convicted_makes_the_machine_unfit(world: PlayingWorld, monkeypatch, caplog, about: str) -> None:
    lie(monkeypatch, about, Reply(None, 50_100_000, Fault.TIMEOUT))
    series_id = world.queued()
    found = settled(world)
    assert (found.fitness, found.judges) == (Fitness.UNFIT, False)
    assert all("that was in time" in reason and "was convicted (timeout)" in reason for reason in found.reasons)
    assert found.evidence["series_before"] == 7 and found.evidence["wrong"][0]["order"]["line"] == about
    assert [record.levelno for record in caplog.records if "judges WRONGLY" in record.message] == [logging.ERROR]
    monkeypatch.undo()
    assert not play_series(world.context, series_id) or world.series(series_id).state is JobState.QUEUED


@pytest.mark.parametrize("about", sorted(GUILTY))
def test_a_guilty_bot_acquitted_makes_the_machine_unfit_at_once(world: PlayingWorld, monkeypatch, about: str) -> None:
    lie(monkeypatch, about, Reply("OK", 49_900_000))

    def attempt() -> None:
        found = settled(world)
        assert found.fitness is Fitness.UNFIT
        judged(len(found.reasons) == 1, found.reasons)
        (reason,) = found.reasons
        assert about in reason and "that was late" in reason and "was called in time after 49.9 ms" in reason

    unless_still(attempt)


def test_a_guilty_bot_acquitted_while_the_machine_stood_still_makes_the_attempt_void(world, monkeypatch) -> None:
    stood_still = Evidence(60_000_000, unseen_ns=12_000_000)
    for about in GUILTY:
        lie(monkeypatch, about, Reply("OK", 60_000_000, stolen_ns=12_000_000, evidence=stood_still))
    play_canary(world.context, CPUS, 7)
    found = world.machine()
    assert (found.fitness, found.canary_voids, found.canary_failures) == (Fitness.FIT, canary.ATTEMPTS, 0)
    assert found.check_due_at == world.clock.now


def test_a_clock_at_half_speed_is_found_out(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the clock is wrong here; everything else is real."""
    monkeypatch.setattr(pipes, "monotonic_ns", lambda: time.monotonic_ns() // 2)
    for _ in range(10):  # on a busy host, its half of a wait convicts others before the late one is asked
        found = settled(world)
        assert found.fitness is Fitness.UNFIT
        if any("that was late (SLEEP" in reason for reason in found.reasons):
            return
    pytest.fail("a bot that was late was never acquitted")


def test_a_wrong_verdict_is_not_lost_when_the_attempt_ends_void_after_it(world: PlayingWorld, monkeypatch) -> None:
    exchange = PipeTransport.exchange

    def lying_until_it_is_late(self: PipeTransport, messages: list[Message]) -> dict[int, Reply]:
        if any(message.line in GUILTY for message in messages):
            raise TransportError("referee-late", "for the test", late_ns=7)
        exchange(self, messages)
        return {message.seat: Reply(None, 5, Fault.EXITED) for message in messages}

    monkeypatch.setattr(PipeTransport, "exchange", lying_until_it_is_late)
    play_canary(world.context, CPUS, 0)
    found = world.machine()
    assert found.fitness is Fitness.UNFIT
    assert all("was convicted (exited)" in reason for reason in found.reasons)  # also for other reasons than lateness


def test_void_attempts_are_repeated_and_a_canary_without_an_end_asks_for_a_check(
    world: PlayingWorld, monkeypatch
) -> None:
    starved = mock.Mock(side_effect=TransportError("host-starved", "for the test", stolen_ns=5))
    monkeypatch.setattr(Arena, "play", starved)
    play_canary(world.context, CPUS, 0)
    found = world.machine()
    assert (found.fitness, found.canary_voids, found.canaries) == (Fitness.FIT, canary.ATTEMPTS, 1)
    assert found.check_due_at == world.clock.now


def test_a_canary_watches_for_seconds_only(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot is not held for minutes by a bot that computes for ever on a machine which gives it nothing."""
    watched: list[int] = []

    def exchange(self: PipeTransport, messages: list[Message]) -> dict[int, Reply]:
        watched.append(self._watch_ns)
        raise TransportError("watch-ended", "for the test")

    monkeypatch.setattr(PipeTransport, "exchange", exchange)
    play_canary(world.context, CPUS, 0)
    assert watched == [REFERENCE_WATCH_NS] * canary.ATTEMPTS
    assert world.machine().fitness is Fitness.FIT, "nothing wrong was seen"


def test_the_worker_plays_a_canary_between_series_when_one_is_due(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.league.service.series.hosts.CANARY_SERIES", 1)
    world = PlayingWorld(settings(tmp_path, sandbox="local"))
    told: list[int] = []
    monkeypatch.setattr(canary, "play_canary", lambda context, cpus, before: told.append(before))
    world.season(3, series_length=1, games_per_pair=1)
    for series_id in world.tick():
        assert play_series(world.context, series_id)
    assert told == [1, 1]  # before the second and the third one
    world.close()


def test_no_canary_is_played_while_none_is_due(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "play_canary", lambda *_: 1 / 0)
    play_canary_when_due(world.context, CPUS)


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[PlayingWorld]:
    """A league whose canaries play in real containers."""
    made = PlayingWorld(settings(tmp_path))
    yield made
    made.context.sandbox.close()  # type: ignore[attr-defined]
    made.close()


@pytest.mark.containers
def test_in_containers_a_true_referee_stays_fit_and_a_lying_one_does_not(confined: PlayingWorld, monkeypatch) -> None:
    def attempt() -> None:
        found = settled(confined)
        judged(found.fitness is Fitness.FIT, found)

    unless_still(attempt)
    series_id = confined.queued()
    monkeypatch.setattr(pipes, "monotonic_ns", lambda: time.monotonic_ns() // 2)
    assert settled(confined).fitness is Fitness.UNFIT
    assert play_series(confined.context, series_id)  # not reported again: there is no other machine
    assert confined.series(series_id).state is JobState.QUEUED and confined.left_behind() == []


def test_a_context_signs_with_its_machines_name(tmp_path: Path) -> None:
    context = Context(settings(tmp_path))
    assert context.worker.startswith(f"{context.host.name}:") and len(context.host.boot) == 36
