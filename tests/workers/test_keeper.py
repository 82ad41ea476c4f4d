"""The keeper checks its machine when a check is due, records the result, and reports that the machine is alive."""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from prometheus_client import REGISTRY
from sqlalchemy.exc import OperationalError
from sqlmodel import delete

from deadheat.cli.operator.doctor import _end_fitness
from deadheat.league.config import HEARTBEAT_SECONDS
from deadheat.league.jobs import Host
from deadheat.league.service.series.hosts import DOUBT_SECONDS, RECHECK_SECONDS, record_canary, record_check
from deadheat.league.states import Fitness
from deadheat.league.tables import WorkerHost
from deadheat.sandbox.box import SandboxError
from deadheat.sandbox.host.check import FULL_ROUNDS, QUICK_ROUNDS
from deadheat.sandbox.host.fitness import Facts, Report, judged
from deadheat.workers import keeper, metrics
from deadheat.workers.context import Context
from deadheat.workers.holding import RETRY_SECONDS
from deadheat.workers.keeper import Keeper, arrive
from tests.league.ground import settings
from tests.league.people import GAME
from tests.workers.conftest import PlayingWorld

GOOD = judged(Facts())
VOID = judged(replace(Facts(), disturbed=61))
WRONG = judged(replace(Facts(), convicted=1))


def test_folders_of_processes_that_were_killed_go_while_the_machine_lives(world: PlayingWorld) -> None:
    left = world.context.run_dir / "box-of-somebody-dead"
    left.mkdir()
    os.utime(left, (0, 0))
    with world.context.folder("play") as mine:
        os.utime(mine, (0, 0))
        Keeper(world.context).look()
        assert mine.is_dir()
    assert not left.exists()


def test_the_counters_of_a_season_begin_before_it_is_played(world: PlayingWorld) -> None:
    season_id = world.season(series_length=1)
    metrics.faults.clear()  # other tests in this process have played seasons with the same number
    Keeper(world.context).look()
    labels = {"game": GAME, "season": str(season_id), "command": "ROLL", "fault": "timeout"}
    assert REGISTRY.get_sample_value("deadheat_faults_total", labels) == 0


def finds(monkeypatch: pytest.MonkeyPatch, *reports: Report | SandboxError) -> list[int]:
    """Let checks find these in turn; return the rounds that each was asked for."""
    asked: list[int] = []

    def check_host(
        sandbox: object, cpus: object, rounds: int, between: Callable[[], None], bots: int, turn: object
    ) -> Report:
        asked.append(rounds)
        between()
        found = reports[len(asked) - 1]
        if isinstance(found, SandboxError):
            raise found
        return found

    monkeypatch.setattr(keeper, "check_host", check_host)
    return asked


def test_a_machine_is_checked_quickly_when_it_starts_and_judges_from_then_on(world: PlayingWorld) -> None:
    arrive(world.context)
    assert not world.machine().judges
    Keeper(world.context).look()
    found = world.machine()
    assert found.checked_at == world.clock.now
    rounds = found.report["facts"]["innocent"] / 2
    assert rounds in (QUICK_ROUNDS, FULL_ROUNDS)  # FULL_ROUNDS if a busy host left a doubt
    assert (found.report["facts"]["convicted"], found.report["facts"]["acquitted"]) == (0, 0)
    assert found.judges or "were not caught" in found.reasons[0]  # this host may be too busy


def test_a_fit_machine_plays_on_while_it_is_checked(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check held its slot for up to two minutes, and a machine that started again judged nothing meanwhile."""
    arrive(world.context)
    slots, taken = world.context.slots, []
    world.worked(record_check, world.host, {}, (), 0)
    arrive(world.context)
    assert world.machine().judges, "it was fit since it booted"
    take = slots.take

    @contextmanager
    def noted(*arguments: Any, **named: Any) -> Iterator[tuple[int, ...]]:
        with take() as free:  # a series that begins between two rounds
            assert free in slots.slots
        with take(*arguments, **named) as cpus:
            taken.append(cpus)
            yield cpus

    monkeypatch.setattr(slots, "take", noted)
    Keeper(world.context).check(thoroughly=False)
    assert len(taken) == 1 + QUICK_ROUNDS and {*taken} == {taken[0]}


def test_a_doubt_at_the_start_is_settled_by_a_thorough_check(world: PlayingWorld, monkeypatch, caplog) -> None:
    asked = finds(monkeypatch, WRONG, GOOD)
    arrive(world.context)
    Keeper(world.context).look()
    assert asked == [QUICK_ROUNDS, FULL_ROUNDS]
    assert world.machine().judges and world.machine().slots == len(world.context.slots.slots)
    assert [record.levelno for record in caplog.records if "NOT FIT" in record.message] == [logging.ERROR]


def test_a_check_by_the_command_ends_fitness_too(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    finds(monkeypatch, GOOD, GOOD)
    arrive(world.context)
    watching = Keeper(world.context)
    watching.look()
    _end_fitness(world.context, WRONG)
    assert (world.machine().judges, world.machine().reasons) == (False, WRONG.reasons)
    world.clock.turn(RECHECK_SECONDS)
    watching.look()  # it proves itself again
    assert world.machine().judges


def test_an_unfit_machine_is_checked_thoroughly_until_it_passes(world: PlayingWorld, monkeypatch) -> None:
    asked = finds(monkeypatch, WRONG, WRONG, WRONG, GOOD)
    arrive(world.context)
    watching = Keeper(world.context)
    watching.look()
    watching.look()
    assert asked == [QUICK_ROUNDS, FULL_ROUNDS]
    assert world.machine().reasons == WRONG.reasons
    world.clock.turn(RECHECK_SECONDS)
    watching.look()
    assert world.machine().fitness is Fitness.UNFIT
    world.clock.turn(RECHECK_SECONDS)
    watching.look()
    assert len(asked) == 4
    assert world.machine().judges


def test_a_fit_machine_whose_check_was_mostly_void_plays_on_and_is_checked_soon(world, monkeypatch) -> None:
    asked = finds(monkeypatch, VOID, VOID, GOOD)
    arrive(world.context)
    watching = Keeper(world.context)
    for checks in (1, 2, 3):
        watching.look()
        watching.look()
        assert len(asked) == checks and world.machine().judges
        if checks == 2:  # the second pause is twice the first
            world.clock.turn(DOUBT_SECONDS)
            watching.look()
            assert len(asked) == checks
        world.clock.turn(DOUBT_SECONDS)
        if checks < 3:
            (said,) = world.machine().remarks
            assert "most of them" in said, "operators see it"
    watching.look()
    assert asked == [QUICK_ROUNDS] * 3 and world.machine().remarks == ()


def test_a_machine_without_an_engine_is_unfit_and_says_so(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = finds(monkeypatch, SandboxError("no-engine", "no Docker Engine answers"))
    arrive(world.context)
    Keeper(world.context).look()
    assert asked == [QUICK_ROUNDS]  # looking longer would show nothing else
    assert world.machine().reasons == ("It could not be checked: no Docker Engine answers",)
    assert world.machine().check_due_at is not None


def test_a_machine_whose_engine_is_back_judges_within_seconds(world: PlayingWorld, monkeypatch, caplog) -> None:
    asked = finds(monkeypatch, *[SandboxError("no-engine", "no Docker Engine answers")] * 20, GOOD)
    arrive(world.context)
    watching = Keeper(world.context)
    for _ in range(21):
        assert not world.machine().judges
        watching.look()
        world.clock.turn(HEARTBEAT_SECONDS)  # as the keeper does
    assert asked == [QUICK_ROUNDS] * 21 and world.machine().judges
    assert caplog.text.count("NOT FIT") == 1


def test_the_keeper_is_heard_of_while_nothing_else_happens(world: PlayingWorld) -> None:
    watching = Keeper(world.context)
    world.clock.listeners.clear()
    world.clock.turn(world.settings.lease_seconds + 1)
    assert not world.machine().judges
    watching.look()
    assert world.machine().judges


def test_the_keeper_is_heard_of_while_a_check_waits_for_a_slot(world: PlayingWorld, monkeypatch) -> None:
    finds(monkeypatch, GOOD)
    watching = Keeper(world.context)
    with ExitStack() as others:
        for slot in world.context.slots.slots:
            others.enter_context(world.context.slots.take(only=slot))
        beats: list[int] = []

        def beat() -> None:
            beats.append(1)
            if len(beats) == 3:
                others.close()  # the match that had the slot is over

        monkeypatch.setattr(watching, "beat", beat)
        watching.check(thoroughly=False)
    assert len(beats) > 3


def test_a_machine_that_the_database_does_not_know_arrives_again(world: PlayingWorld, monkeypatch, caplog) -> None:
    asked = finds(monkeypatch, GOOD)
    with world.db.transaction() as session:
        session.exec(delete(WorkerHost))
    Keeper(world.context).look()
    assert "is new to the database" in caplog.text
    assert asked == [QUICK_ROUNDS]
    assert world.machine().judges


def test_of_two_machines_with_one_name_the_second_says_so_and_waits(world: PlayingWorld, monkeypatch, caplog) -> None:
    asked = finds(monkeypatch, GOOD)
    second = Context(world.settings)
    second.__dict__ |= {"database": world.db, "host": Host(world.host.name, "another boot")}
    watching = Keeper(second)
    watching.look()
    assert "two machines have the name" in caplog.text and "DEADHEAT_WORKER_NAME" in caplog.text
    assert asked == []
    assert world.machine().judges, "the first one plays on"
    world.clock.listeners.clear()
    world.clock.turn(world.settings.lease_seconds + 1)  # the first machine is gone
    watching.look()
    assert asked == [QUICK_ROUNDS]
    assert world.machine().judges


def test_a_machines_name_is_a_setting(world: PlayingWorld, tmp_path: Path) -> None:
    assert Context(settings(tmp_path, worker_name="left")).host.name == "left"
    assert world.host.name == socket.gethostname()


def test_a_database_that_is_away_does_not_end_the_keeper(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    class Enough(Exception):
        """Raised when the test has seen enough."""

    unreachable = mock.Mock(side_effect=OperationalError("UPDATE", {}, Exception("server closed the connection")))

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            raise Enough

    naps: list[float] = []
    monkeypatch.setattr(Keeper, "look", unreachable)
    monkeypatch.setattr(keeper, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    with pytest.raises(Enough):
        Keeper(world.context).run()
    assert naps == [RETRY_SECONDS] * 2, "it plays nothing before it has reported"


@pytest.mark.containers
def test_in_containers_the_report_names_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = PlayingWorld(settings(tmp_path))
    arrive(world.context)
    Keeper(world.context).look()
    found = world.machine()
    assert found.report["image"]["name"] == world.settings.image
    assert "pressure" in found.report["facts"]["signals"] or "run-delay" in found.report["facts"]["signals"]
    world.context.sandbox.close()  # type: ignore[attr-defined]
    world.close()


def test_a_canary_that_went_wrong_is_followed_by_a_thorough_check(world: PlayingWorld, monkeypatch) -> None:
    asked = finds(monkeypatch, GOOD)
    world.write(record_canary, world.host, 0, [{"told": "for the test"}], 0)
    Keeper(world.context).look()
    assert asked == []
    world.clock.turn(RECHECK_SECONDS)
    Keeper(world.context).look()
    assert asked == [FULL_ROUNDS]
    assert world.machine().judges
