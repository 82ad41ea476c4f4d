"""Any number of schedulers may run: what is sent twice has one effect."""

import threading
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
from sqlalchemy import event
from sqlmodel import col, select

from deadheat.cli.operator.doctor import Verdict, check_broker
from deadheat.league.config import REFIT_SECONDS
from deadheat.league.database import Database
from deadheat.league.jobs import Host
from deadheat.league.service.people import channels, notices
from deadheat.league.service.rulings.closing import set_role
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.series.hosts import CANARY_SECONDS, record_check
from deadheat.league.states import ChannelKind, Role, SeasonState
from deadheat.league.tables import Attempt, AuditRecord, JudgingEnvironment, Notice, RatingSnapshot, Sample, Series
from deadheat.league.words import NoticeKind
from deadheat.sandbox.docker import DockerSandbox
from deadheat.workers import canary, environment, scheduler, tasks
from deadheat.workers.broker import queue
from deadheat.workers.broker.queue import INTERVALS, TICK_SECONDS
from deadheat.workers.link import InProcess
from deadheat.workers.sending import deliveries
from tests.league.clock import START
from tests.league.conftest import database_url, postgres_url  # noqa: F401  fixtures
from tests.league.ground import in_threads, settings
from tests.league.world import World

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
            of_thread.made.link = InProcess(of_thread.made)
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
