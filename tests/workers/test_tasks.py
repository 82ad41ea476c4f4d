"""The scheduled tasks: a failure in one season does not stop another, and what is given up is counted."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import redis
from prometheus_client import REGISTRY
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col, select

from deadheat.cli.operator.checkup import check_broker
from deadheat.cli.operator.findings import Verdict
from deadheat.league.config import REFIT_SECONDS
from deadheat.league.database import Database
from deadheat.league.jobs import Host
from deadheat.league.service.course.schedule import go_on
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs import exhibitions
from deadheat.league.service.jobs import sweep as league_sweep
from deadheat.league.service.jobs.exhibiting import EXHIBITIONS
from deadheat.league.service.jobs.kinds import KINDS
from deadheat.league.service.people import channels, notices
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings.standings import newest_snapshot, refit, seasons_to_refit
from deadheat.league.service.rulings.held import held_by_game
from deadheat.league.service.rulings.operators import set_role
from deadheat.league.service.seasons.seasons import season_progress
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.hosts import CANARY_SECONDS, host_arrives, record_check
from deadheat.league.states import ChannelKind, JobState, Role, SeasonState
from deadheat.league.tables import (
    Attempt,
    AuditRecord,
    Exhibition,
    JudgingEnvironment,
    Notice,
    RatingSnapshot,
    Sample,
    Series,
)
from deadheat.league.words import NoticeKind
from deadheat.sandbox.docker import DockerSandbox
from deadheat.workers import canary, environment, metrics, scheduler, tasks
from deadheat.workers.broker import queue
from deadheat.workers.broker.queue import INTERVALS, TICK_SECONDS, task_name
from deadheat.workers.sending import deliveries
from tests.league.clock import START
from tests.league.conftest import database_url, postgres_url  # noqa: F401  fixtures
from tests.league.ground import in_threads, settings
from tests.league.world import World
from tests.workers.conftest import PlayingWorld

ALERTS = Path(__file__).parents[2] / "dashboards" / "prometheus" / "alerts.yml"


@pytest.fixture
def sent(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids of series sent to workers."""
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
    return world.write(exhibitions.take_seat, person, bot_id, 1, 1)


def test_every_kind_of_job_has_its_task_and_an_alert() -> None:
    assert {task_name(life) for life in KINDS} <= tasks.app.tasks.keys()
    watched = re.findall(r'deadheat_task_failures_total\{task=~?"([^"]+)"', ALERTS.read_text())
    assert {life.queue for life in KINDS} <= {task for tasks_of_one in watched for task in tasks_of_one.split("|")}


@pytest.mark.parametrize(
    ("waiting", "table", "life"), [(PlayingWorld.queued, Series, SERIES), (an_exhibition, Exhibition, EXHIBITIONS)]
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


DAY = timedelta(days=1)
MEET_SECONDS = 0.5
"""How long each of two processes waits before it writes for the other one to have read, too."""


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[World]:  # noqa: F811  the fixture
    given = {"webhooks_inside": True, "site_url": "https://league.example"}
    given |= {"smtp_url": "smtp://127.0.0.1:1", "mail_from": "league@league.example"}
    made = World(settings(tmp_path, database_url=database_url, **given))
    yield made
    made.close()


Sent = list[object]
"""What has gone out of the league: deliveries, series to workers, canary matches."""

Look = Callable[[World, Sent], object]


def count(column: Any, *where: Any) -> Look:
    return lambda world, _: len(world.rows(select(column).where(*where)))


def for_each(kind: NoticeKind) -> Look:
    """Return how many notices of a kind each person has who has any."""
    return lambda world, _: {*Counter(world.rows(select(Notice.user_id).where(Notice.kind == kind))).values()}


def open_to_play(world: World) -> None:
    world.season(5, series_length=1, games_per_pair=100)


def closes_soon(world: World) -> None:
    world.season(2, closes_at=START + 1.5 * DAY)
    world.clock.turn(DAY.total_seconds())


def closes(world: World) -> None:
    world.season(2, closes_at=START + DAY)
    world.clock.turn(2 * DAY.total_seconds())


def silent(world: World) -> None:
    world.season(2, series_length=1)
    world.claimed(world.tick()[0], "w1")
    world.clock.turn(world.settings.lease_seconds + 1)


def played(world: World) -> None:
    world.played(2)
    world.clock.turn(REFIT_SECONDS)


def over(world: World) -> None:
    world.set_state(world.ranked(2), SeasonState.CLOSED)


def addressed(world: World) -> None:
    for name in ("ada", "bob"):
        person = world.author(name)
        world.write(channels.add_webhook, person, "http://127.0.0.1:1/hook")
        world.write(channels.add_address, person, f"{name}@league.example")
        world.write(partial(notices.account_changed, user_id=person.id, event="Your password was changed."))


def old(world: World) -> None:
    addressed(world)
    world.clock.turn(1000 * DAY.total_seconds())


def idle(world: World) -> None:
    world.clock.turn(CANARY_SECONDS)


def watched(world: World) -> None:
    world.write(set_role, "boss", Role.ADMIN)


def went_out(_: World, sent: Sent) -> set[int]:
    """Return how often each thing went out."""
    return {*Counter(sent).values()}


def nothing(_: World) -> None:
    """Prepare nothing."""


CASES: dict[str, tuple[str, Callable[[World], object], Look, object]] = {
    "series": ("tick", open_to_play, count(Series.id), OPEN_SERIES),
    "their messages": ("tick", open_to_play, went_out, {1}),
    "a date that is near": ("tick", closes_soon, for_each(NoticeKind.DEADLINE), {1}),
    "a date that has come": ("tick", closes, count(AuditRecord.id, AuditRecord.action == "season-closed"), 1),
    "a lost series": ("sweep", silent, count(Attempt.id, Attempt.cause == "lease-expired"), 1),
    "a sample": ("sweep", nothing, count(Sample.at), 1),
    "a ranking": ("refit", played, count(RatingSnapshot.id), 1),
    "final standings": ("refit", over, count(RatingSnapshot.id, col(RatingSnapshot.final)), 1),
    "their record": ("refit", over, count(AuditRecord.id, AuditRecord.action == "season-published"), 1),
    "their notices": ("refit", over, for_each(NoticeKind.STANDINGS), {1}),
    "an environment": ("environment", nothing, count(JudgingEnvironment.fingerprint), 1),
    "old notices": ("forget", old, count(Notice.id), 0),
    "a webhook": ("deliver", addressed, went_out, {1}),
    "a canary match": ("canary", idle, went_out, {1}),
    "an alarm": ("alarm", watched, for_each(NoticeKind.UNFIT), {1}),
}
"""By what there is to do once: the task, what leads to it, and the traces that must be left."""


def task_of(world: World, name: str, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Return a periodic task, or what a machine's processes do from time to time, as a process of its own does it."""
    of_thread, both_read = threading.local(), threading.Barrier(2)

    def meet(_1: object, _2: object, statement: str, *_: object) -> None:
        if statement.split(maxsplit=1)[0] in {"INSERT", "UPDATE", "DELETE"} and not hasattr(of_thread, "met"):
            of_thread.met = True
            with suppress(threading.BrokenBarrierError):  # a lock may keep the other one out, as it should
                both_read.wait(MEET_SECONDS)

    def context() -> Any:
        if not hasattr(of_thread, "made"):
            box = mock.Mock(DockerSandbox, image=lambda: SimpleNamespace(name="image"))
            slots = SimpleNamespace(take=lambda: nullcontext((0,)))
            database = world.connect()
            with database.transaction() as session:
                event.listen(session.get_bind(), "before_cursor_execute", meet)
            of_thread.made = SimpleNamespace(
                database=database, settings=world.settings, sandbox=box, slots=slots, worker="w", host=world.host
            )
        return of_thread.made

    def posted(_: object, parcel: channels.Parcel) -> deliveries.Sent:
        sent.append(parcel.delivery_id)
        return True, False, "200"

    monkeypatch.setattr(tasks, "context", context)
    monkeypatch.setattr(tasks, "enqueue", lambda *job: sent.append(job))
    for advised in ("enqueue_refit", "enqueue_advice"):
        monkeypatch.setattr(tasks, advised, lambda *_: None)
    monkeypatch.setattr(environment, "fingerprint", lambda *_: "f" * 64)
    monkeypatch.setattr(environment, "describe", lambda *_: {"languages": []})
    monkeypatch.setattr(deliveries, "SENDERS", dict.fromkeys(ChannelKind, posted))
    monkeypatch.setattr(canary, "play_canary", lambda *_: sent.append("canary"))
    others = {
        "canary": lambda: canary.play_canary_when_due(context(), (0,)),
        "alarm": lambda: told_unfit(context().database, world.host),
    }
    return others.get(name) or tasks.app.tasks[f"deadheat.{name}"]


def told_unfit(database: Database, host: Host) -> None:
    with database.transaction() as session:
        record_check(session, host, {}, ["Too much noise."], 60)


@pytest.mark.databases
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "again"])
@pytest.mark.parametrize("what", CASES)
def test_what_is_sent_twice_has_one_effect(world: World, what: str, at_once: bool, monkeypatch) -> None:
    name, prepare, left, once = CASES[what]
    sent: Sent = []
    task, both = task_of(world, name, sent, monkeypatch), threading.Barrier(2, timeout=60)
    prepare(world)
    if at_once:
        in_threads(*[lambda: [both.wait(), task()]] * 2)
    else:
        task()
        task()
    assert left(world, sent) == once


def test_every_periodic_task_is_among_these() -> None:
    assert INTERVALS.keys() <= {name for name, *_ in CASES.values()}
    assert {f"deadheat.{name}" for name in INTERVALS} <= tasks.app.tasks.keys()


def test_each_task_is_sent_at_its_interval_and_what_is_refused_soon_again() -> None:
    at, away, sent = 0.0, True, Counter[str]()

    def send(task: str) -> None:
        if away:
            raise redis.ConnectionError
        sent[task] += 1

    beats = scheduler.pauses(send, lambda: at)
    assert [*islice(beats, 3)] == [TICK_SECONDS] * 3 and not sent
    away = False
    while at < 3600:
        at += next(beats)
    assert sent == {task: 3600 // seconds for task, seconds in INTERVALS.items()}


@pytest.mark.parametrize("trouble", [("config", "set", "maxmemory", "1"), ("replicaof", "127.0.0.1", "1")])
def test_a_redis_that_takes_nothing_is_told_of(trouble: tuple[str, ...], redis_url: str, tmp_path: Path) -> None:
    chosen = settings(tmp_path, broker_url=redis_url)
    queue.check(chosen, 5)
    assert [finding.verdict for finding in check_broker(chosen)] == [Verdict.GOOD]
    with redis.Redis.from_url(redis_url) as client:
        client.execute_command(*trouble)
        assert client.ping()
    with pytest.raises(redis.RedisError):
        queue.check(chosen, 5)
    with pytest.raises(redis.RedisError):
        list(check_broker(chosen))
