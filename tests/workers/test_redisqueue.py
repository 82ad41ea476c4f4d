"""The queue when its Redis dies."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import redis
from kombu.simple import SimpleQueue

from deadheat.workers.broker.queue import celery_app
from deadheat.workers.broker.redisqueue import Channel
from tests.league.ground import settings


def let_go_of(queue: SimpleQueue) -> None:
    """Put back unprocessed messages, as kombu does when a connection ends."""
    assert isinstance(queue.channel, Channel)
    queue.channel.qos.restore_unacked_once()


def test_a_redis_that_dies_leaves_no_files_behind(redis_url: str, tmp_path: Path, monkeypatch, caplog) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    app = celery_app(settings(tmp_path, broker_url=redis_url))
    app.send_task("deadheat.build", (7,))
    with app.connection_for_read() as connection:
        queue = connection.SimpleQueue("build")
        assert queue.get(timeout=10).payload[0] == [7]
        with redis.Redis.from_url(redis_url) as client:
            client.shutdown(nosave=True)
        let_go_of(queue)
    app.close()
    assert list(temporary.iterdir()) == []
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "messages that Redis did not take back: 1; the jobs that they name are found again"
    ]


def test_what_was_fetched_and_not_done_goes_back_to_a_redis_that_lives(redis_url: str, tmp_path: Path) -> None:
    app = celery_app(settings(tmp_path, broker_url=redis_url))
    app.send_task("deadheat.build", (7,))
    for _ in range(2):
        with app.connection_for_read() as connection:
            queue = connection.SimpleQueue("build")
            assert queue.get(timeout=10).payload[0] == [7]
            let_go_of(queue)
    app.close()
