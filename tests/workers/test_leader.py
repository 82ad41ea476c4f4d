"""Any number of schedulers may run, and one of them leads."""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from celery import Celery

from deadheat.cli.operator.checkup import check_broker, check_running
from deadheat.cli.operator.findings import Verdict
from deadheat.league.database import Database
from deadheat.workers import leader
from deadheat.workers.broker import queue
from deadheat.workers.broker.queue import celery_app
from deadheat.workers.leader import KEY, Lease, LedScheduler, RedisLease, lease_of
from tests.league.ground import settings
from tests.sandbox.boxes import until


@pytest.fixture(params=["files", "redis"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Lease, Lease]:
    """The leases of two schedulers of one deployment."""
    url = "" if request.param == "files" else request.getfixturevalue("redis_url")
    chosen = settings(tmp_path, broker_url=url)
    return lease_of(chosen), lease_of(chosen)


def test_one_leads_and_the_other_when_it_has_ended(two: tuple[Lease, Lease]) -> None:
    first, second = two
    assert [first.hold(), second.hold(), first.hold(), second.hold()] == [True, False, True, False]
    first.release()
    assert [second.hold(), first.hold()] == [True, False]


def test_a_leader_that_died_is_followed_when_its_lease_has_run_out(redis_url: str) -> None:
    first, second = RedisLease(redis_url), RedisLease(redis_url)
    assert first.hold()
    with redis.Redis.from_url(redis_url) as client:
        assert 0 < client.pttl(KEY) <= leader.LEASE_SECONDS * 1000
        assert not second.hold()
        client.pexpire(KEY, 1)
        time.sleep(0.05)
    assert second.hold()
    assert not first.hold()  # it was only asleep, and learns that it no longer leads


def test_a_flushed_redis_has_a_leader_again_at_once(redis_url: str) -> None:
    first = RedisLease(redis_url)
    assert first.hold()
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    assert first.hold()


def test_without_redis_nobody_leads_and_nobody_falls(tmp_path: Path) -> None:
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        lease = RedisLease(f"redis://127.0.0.1:{unused.getsockname()[1]}/0")
        with pytest.raises(redis.ConnectionError):
            lease.hold()
        sent: list[str] = []
        alone = scheduler(settings(tmp_path), sent, tmp_path / "alive", lease)
        assert alone.tick() == leader.STANDBY_SECONDS
        assert sent == []
        alone.close()


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
    Database(chosen).migrate()
    assert {finding.verdict for finding in check_running(chosen) if finding.about == "scheduler"} == {Verdict.WRONG}


def test_only_the_leader_sends_what_is_due(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    sent: dict[str, list[str]] = {}
    schedulers = {name: scheduler(chosen, sent.setdefault(name, []), tmp_path / name) for name in ("one", "other")}
    for _ in range(4):
        assert all(clockwork.tick() <= leader.LEASE_SECONDS / 3 for clockwork in schedulers.values())
    assert sent["one"] and sent["other"] == []
    assert (tmp_path / "other").exists()  # the process on standby is healthy too
    schedulers["one"].close()
    assert until(lambda: [schedulers["other"].tick()] and sent["other"], 60)


def test_there_is_one_beat_to_send_a_message_and_one_to_wait_for_the_next(tmp_path: Path) -> None:
    sent: list[str] = []
    clockwork, beats = scheduler(settings(tmp_path), sent, tmp_path / "alive", seconds=0.05), 0
    while len(sent) < 30 and beats < 90:
        time.sleep(max(0, clockwork.tick()))
        beats += 1
    assert beats < 3 * len(sent)
    clockwork.close()


def test_a_clock_that_is_set_back_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_by = 0.0
    true_time = time.time
    monkeypatch.setattr("deadheat.workers.leader.time.time", lambda: true_time() + set_by)
    monkeypatch.setattr(Celery, "now", lambda _: datetime.now(UTC) + timedelta(seconds=set_by))
    sent: list[str] = []
    clockwork = scheduler(settings(tmp_path), sent, tmp_path / "alive")
    for set_by in (3600.0, 0.0, -3600.0):  # noqa: B007  the clock above
        sent.clear()
        for _ in range(8):
            time.sleep(0.002)
            clockwork.tick()
        assert len(set(sent)) > 1
    clockwork.close()


def scheduler(
    chosen, sent: list[str], alive_file: Path, lease: Lease | None = None, seconds: float = 0.001
) -> LedScheduler:
    app = celery_app(chosen)
    for place, entry in enumerate(app.conf.beat_schedule.values(), 10):
        entry["schedule"] = seconds * place / 10  # seldom at once
    made = LedScheduler(app, lease=lease or lease_of(chosen), alive_file=alive_file)
    made.apply_async = lambda entry, **_: sent.append(entry.task)  # type: ignore[method-assign]
    made.setup_schedule()
    return made
