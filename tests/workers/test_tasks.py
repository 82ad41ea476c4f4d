"""The scheduled tasks: a failure in one season does not stop another, and what is given up is counted."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from prometheus_client import REGISTRY
from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from deadheat.league.config import REFIT_SECONDS
from deadheat.league.jobs import Host
from deadheat.league.service.course.schedule import go_on
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs import sweep as league_sweep
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings.standings import newest_snapshot, refit, seasons_to_refit
from deadheat.league.service.rulings.rulings import held_by_game
from deadheat.league.service.seasons.seasons import season_progress
from deadheat.league.service.series import carrying_out
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.hosts import host_arrives, record_check
from deadheat.league.service.tables import sitting
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.states import JobState, SeasonState
from deadheat.league.tables import GameTable, Series
from deadheat.workers import metrics, tasks
from deadheat.workers.broker.queue import task_name
from tests.workers.conftest import PlayingWorld

ALERTS = Path(__file__).parents[2] / "dashboards" / "prometheus" / "alerts.yml"


@pytest.fixture
def sent(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    told: list[int] = []
    monkeypatch.setattr(tasks, "context", lambda: world.context)
    monkeypatch.setattr(tasks, "enqueue", lambda _life, row_id: told.append(row_id))
    monkeypatch.setattr(tasks, "enqueue_refit", lambda: None)
    return told


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"deadheat_{name}_total", labels) or 0


def stumbling(act: Callable[[Session, int], Any], season_id: int, error: Exception) -> Callable[[Session, int], Any]:
    """Return `act`, which fails for one season after all its work."""

    def stumble(session: Session, asked: int) -> Any:
        told = act(session, asked)
        if asked == season_id:
            raise error
        return told

    return stumble


def an_exhibition(world: PlayingWorld) -> int:
    person, bot_id = world.playing_bot()
    return world.write(sitting.take_seat, person, bot_id, 1, 1)


def test_every_kind_of_job_has_its_task_and_an_alert() -> None:
    assert {task_name(life) for life in KINDS} <= tasks.app.tasks.keys()
    watched = re.findall(r'deadheat_task_failures_total\{task=~?"([^"]+)"', ALERTS.read_text())
    assert {life.queue for life in KINDS} <= {task for tasks_of_one in watched for task in tasks_of_one.split("|")}


@pytest.mark.parametrize(
    ("waiting", "table", "life"), [(PlayingWorld.queued, Series, SERIES), (an_exhibition, GameTable, TABLES)]
)
def test_an_unfit_machine_hands_a_message_on_and_waits(world: PlayingWorld, monkeypatch, waiting, table, life) -> None:
    work_id, carry_out = waiting(world), tasks.app.tasks[task_name(life)]
    sent: list[tuple[Life, int]] = []
    slept: list[float] = []
    monkeypatch.setattr(tasks, "context", lambda: world.context)
    monkeypatch.setattr(tasks, "enqueue", lambda *told: sent.append(told))
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    world.write(record_check, world.host, {}, ["Too much noise."], 60)
    carry_out(work_id)
    assert (sent, slept) == ([], []), "nobody is there who could be told"
    other = Host("other", "boot")
    world.write(host_arrives, other, "image")
    world.write(record_check, other, {}, (), 60)
    carry_out(work_id)
    assert (sent, slept) == ([(life, work_id)], [tasks.STEP_ASIDE_SECONDS])
    assert world.row(table, work_id).state == "queued"


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError(), OperationalError("SELECT", {}, Exception("parser stack overflow"))],
    ids=lambda error: type(error).__name__,
)
def test_a_season_that_cannot_be_planned_stops_no_other(world: PlayingWorld, monkeypatch, sent, error) -> None:
    bad, good = world.season(series_length=1), world.season(series_length=1)
    before = counted("task_failures", task="tick", cause=type(error).__name__)
    monkeypatch.setattr(tasks, "go_on", stumbling(go_on, bad, error))
    tasks.tick()
    assert {world.series(series_id).season_id for series_id in sent} == {good}
    assert counted("task_failures", task="tick", cause=type(error).__name__) == before + 1
    assert world.read(season_progress, bad).scheduled == 0, "nothing is left of what it had begun"


def test_a_season_that_cannot_be_ranked_stops_no_other(world: PlayingWorld, monkeypatch, sent: list[int]) -> None:
    bad, good = world.season(series_length=1), world.season(series_length=1)
    world.play_all()
    world.clock.turn(REFIT_SECONDS)
    monkeypatch.setattr(standings, "refit", stumbling(refit, bad, ValueError("no such matrix")))
    tasks.refit()
    assert world.read(seasons_to_refit) == [bad] and world.read(newest_snapshot, good) is not None


def test_a_database_that_is_away_ends_the_task(world: PlayingWorld, monkeypatch, sent: list[int]) -> None:
    first, _ = world.season(series_length=1), world.season(series_length=1)
    away = OperationalError("SELECT", {}, Exception("server closed the connection"))
    monkeypatch.setattr(tasks, "go_on", stumbling(go_on, first, away))
    monkeypatch.setattr(type(world.context.database), "check", mock.Mock(side_effect=away))
    before = counted("task_failures", task="tick", cause="database-away")
    with pytest.raises(OperationalError):
        tasks.tick()
    assert sent == []
    assert counted("task_failures", task="tick", cause="database-away") == before + 1


def test_that_a_scheduled_task_was_done_is_told(world: PlayingWorld, monkeypatch, sent: list[int]) -> None:
    for task in metrics.SCHEDULED:
        before = counted("tasks_done", task=task)
        getattr(tasks, task)()
        assert counted("tasks_done", task=task) == before + 1
    before = counted("tasks_done", task="sweep")
    monkeypatch.setattr(league_sweep, "sweep", mock.Mock(side_effect=ValueError("no such row")))
    with pytest.raises(ValueError, match="no such row"):
        tasks.sweep()
    assert counted("tasks_done", task="sweep") == before, "it was not done"


def test_a_lease_that_expires_is_counted_for_the_machine_that_was_silent(world: PlayingWorld, sent: list[int]) -> None:
    world.season(series_length=1)
    world.claimed(world.tick()[0], "silent-machine:7")
    world.write(host_arrives, Host("silent-machine", "boot"), "image")
    labels = {"queue": "play", "host": "silent-machine"}
    tasks.sweep()
    assert REGISTRY.get_sample_value("deadheat_leases_expired_total", labels) == 0, "a rate sees the first one, too"
    world.clock.turn(world.settings.lease_seconds + 1)
    tasks.sweep()
    assert REGISTRY.get_sample_value("deadheat_leases_expired_total", labels) == 1


@pytest.fixture
def asked(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seasons for which more series were requested. What earlier tests requested is forgotten."""
    seasons: list[int] = []
    monkeypatch.setattr(tasks, "enqueue_plan", seasons.append)
    monkeypatch.setattr(tasks, "_in_vain_until", {})
    return seasons


def test_the_next_series_are_made_when_few_are_left(world: PlayingWorld, sent: list[int], asked: list[int]) -> None:
    season_id = world.season(series_length=1, games_per_pair=40)
    tasks.tick()
    first, *others = sent
    assert len(sent) == OPEN_SERIES
    tasks.play(first)
    assert asked == [], "enough wait"
    for series_id in others[: OPEN_SERIES // 4 - 1]:
        assert world.finish(world.claimed(series_id))
    tasks.ask_for_more(first)
    assert asked == [season_id]
    sent.clear()
    tasks.plan(season_id)
    assert len(sent) == OPEN_SERIES // 4, "the queue is full again"
    tasks.plan(season_id)
    assert len(sent) == OPEN_SERIES // 4, "who asked at the same time changes nothing"


def test_a_season_without_more_to_plan_is_left_alone(world: PlayingWorld, monkeypatch, sent, asked) -> None:
    season_id = world.season(series_length=1, games_per_pair=1)
    tasks.tick()
    planned = mock.Mock(side_effect=go_on)
    monkeypatch.setattr(tasks, "go_on", planned)
    monkeypatch.setattr(tasks, "TICK_SECONDS", 3600)
    for _ in range(3):
        tasks.plan(season_id)
    assert planned.call_count == 1


def test_the_last_series_requests_a_ranking(world: PlayingWorld, monkeypatch, sent: list[int], asked) -> None:
    world.season(series_length=1, games_per_pair=2)
    tasks.tick()
    requested = mock.Mock()
    monkeypatch.setattr(tasks, "enqueue_refit", requested)
    first, last = sent
    assert world.finish(world.claimed(first))
    tasks.refit()
    tasks.ask_for_more(first)
    assert requested.call_count == 0, "it was just ranked, and more is played"
    tasks.play(last)
    assert requested.call_count == 1
    tasks.refit()
    tasks.ask_for_more(last)
    assert requested.call_count == 1, "it is ranked"


def test_a_tick_requests_the_rankings_that_are_due(world: PlayingWorld, monkeypatch, sent: list[int]) -> None:
    requested = mock.Mock()
    monkeypatch.setattr(tasks, "enqueue_refit", requested)
    season_id = world.season(series_length=1, games_per_pair=1)
    for count in (1, 2):  # a season's first ranking, and one with its only match
        tasks.tick()
        assert requested.call_count == count
        tasks.refit()
        tasks.tick()
        assert requested.call_count == count, "it is ranked"
        world.play_left(sent)
    world.set_state(season_id, SeasonState.CLOSED)
    tasks.tick()
    assert requested.call_count == 3, "its standings are to be published"


def test_a_broker_that_is_away_spoils_no_series(world: PlayingWorld, monkeypatch, sent: list[int]) -> None:
    monkeypatch.setattr(tasks, "enqueue_plan", mock.Mock(side_effect=ConnectionError()))
    series_id = world.queued()
    before = counted("task_failures", task="play", cause="ConnectionError")
    tasks.play(series_id)
    assert world.series(series_id).state is JobState.DONE
    assert counted("task_failures", task="play", cause="ConnectionError") == before


def held(world: PlayingWorld) -> int:
    return sum(world.read(held_by_game).values())


def test_what_was_played_is_what_more_is_asked_of(world: PlayingWorld, sent: list[int], monkeypatch) -> None:
    """A message names one series, but another one may be next."""
    world.season(3, series_length=1, games_per_pair=3)
    tasks.tick()
    found: list[int] = []
    monkeypatch.setattr(tasks, "ask_for_more", found.append)
    tasks.play(sent[-1])
    assert found == [sent[0]]


def test_matches_of_a_series_whose_workers_all_die_are_held(world: PlayingWorld, sent: list[int]) -> None:
    series_id = world.queued(3)
    for attempt in range(carrying_out.SERIES_ATTEMPTS):
        assert held(world) == 0 and world.claim(series_id, f"w{attempt}") is not None
        world.clock.turn(world.settings.lease_seconds + 1)
        tasks.sweep()
    assert world.series(series_id).state is JobState.ABANDONED and held(world) == 3
    tasks.sweep()
    assert held(world) == 3
