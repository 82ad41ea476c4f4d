"""The queue when its Redis dies."""

import base64
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection
from kombu.exceptions import OperationalError
from kombu.simple import SimpleQueue
from kombu.utils.json import dumps

from deadheat.cli.operator.doctor import Verdict, check_broker
from deadheat.workers.broker.queue import celery_app, check
from deadheat.workers.broker.redisqueue import RedisChannel
from tests.league.ground import settings

ENTRYPOINT = Path(__file__).parents[2] / "deploy" / "services" / "redis" / "entrypoint"


def let_go_of(queue: SimpleQueue) -> None:
    """Put back unprocessed messages, as kombu does when a connection ends."""
    assert isinstance(queue.channel, RedisChannel)
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


def test_workers_try_to_reach_a_redis_that_is_away_every_few_seconds(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda _seconds: None)
    app = celery_app(settings(tmp_path, broker_url="redis://127.0.0.1:1"))
    pauses: list[float] = []
    with pytest.raises(OperationalError), app.connection_for_read() as connection:
        connection.ensure_connection(lambda _error, pause: pauses.append(pause), max_retries=20)  # as workers do
    app.close()
    assert len(pauses) == 20 and max(pauses) == 5


def message(**changed: Any) -> dict[str, Any]:
    return {
        "body": base64.b64encode(b"[[1000], {}, {}]").decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "deadheat.build", "id": "1", "lang": "py"},
        "properties": {
            "delivery_tag": "1",
            "body_encoding": "base64",
            "delivery_info": {"exchange": "", "routing_key": "build"},
        },
    } | changed


EXPIRIES = ("never", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00x", "2000-01-01T00:00:00")


def garbage() -> list[bytes]:
    """Return what a damaged or foreign program may have put into a queue."""
    whole, needed = message(), ("body", "headers", "properties")
    headers: list[Any] = [{"task": []}, {"task": None}, {"id": None}, {"expires": 7}]
    properties: list[Any] = [{"delivery_tag": []}, {"delivery_info": []}, {"delivery_info": {}}]
    bodies: list[Any] = [
        "!",
        7,
        [],
        {},
        *(base64.b64encode(text).decode() for text in (b"no", b"[]", b"{}", b"[[{}]]")),
    ]
    wrong: list[Any] = [None, "text", []]
    texts: list[Any] = [
        *(message(headers=whole["headers"] | change) for change in headers),
        *(message(properties=whole["properties"] | change) for change in properties),
        *(message(body=body) for body in bodies),
        *({name: part for name, part in whole.items() if name != left} for left in needed),
        *(message(**{name: change}) for name in needed for change in wrong),
        *([], {}, 7, None, "text", [whole]),
    ]
    return [b"garbage", b"", b"\xff\x00", b"{", b"[" * 100_000, *(json.dumps(text).encode() for text in texts)]


def oddities() -> list[dict[str, Any]]:
    """Return messages that are whole, but have headers and callbacks that none of ours has."""
    headers = message()["headers"]
    etas: list[Any] = ["9999-12-31T23:59:59+00:00", "2999-01-01T00:00:00+00:00", "soon", 7]
    odd: list[Any] = [{"timelimit": 7}, {"retries": []}, {"argsrepr": 7}, {"stamped_headers": 7}, {"group": {}}]
    changed: list[Any] = [*({"eta": eta} for eta in etas), *odd]
    chained = base64.b64encode(b'[[1000], {"a": 1}, {"callbacks": 7, "chain": [{}], "errbacks": 7}]').decode()
    return [*(message(headers=headers | change) for change in changed), message(body=chained)]


WORKER = """
import sys, redis
from deadheat.league.config import Settings
from deadheat.workers.broker.queue import celery_app

app, client = celery_app(Settings()), redis.Redis.from_url(Settings().broker_url)

@app.task(name="deadheat.build")
def build(number):
    client.rpush("done", number)

app.worker_main("--quiet worker --queues=build --concurrency=1 --without-gossip --without-mingle".split())
"""


def test_no_message_ends_a_worker_or_waits_in_it(redis_url: str, tmp_path: Path) -> None:
    """After each piece of garbage the worker takes the next message; what is whole it carries out at once."""
    app = celery_app(settings(tmp_path, broker_url=redis_url))
    environment = os.environ | {"DEADHEAT_BROKER_URL": redis_url, "DEADHEAT_DATA_DIR": str(tmp_path)}
    log = tmp_path / "log"
    with (
        redis.Redis.from_url(redis_url, socket_timeout=120) as client,
        log.open("w") as told,
        subprocess.Popen([sys.executable, "-c", WORKER], env=environment, stdout=told, stderr=told) as worker,
    ):
        try:
            for odd in oddities():
                client.lpush("build", json.dumps(odd))
                assert client.blpop(["done"], timeout=60) == (b"done", b"1000"), (odd, log.read_text())
            outdated = (message(headers=message()["headers"] | {"expires": at}) for at in EXPIRIES)
            for number, text in enumerate([*garbage(), *map(json.dumps, outdated)]):
                client.lpush("build", text)
                app.send_task("deadheat.build", (number,))
                assert client.blpop(["done"], timeout=60) == (b"done", b"%d" % number), (text[:300], log.read_text())
            assert worker.poll() is None
        finally:
            worker.terminate()
    app.close()
    assert log.read_text().count("a damaged message is dropped") == len(garbage())


def test_a_redis_full_of_strangers_counts_takes_and_keeps_messages(redis_url: str, tmp_path: Path) -> None:
    chosen = settings(tmp_path, broker_url=redis_url)
    policy = re.search("^maxmemory-policy (.+)$", ENTRYPOINT.read_text(), re.MULTILINE)
    app = celery_app(chosen)
    assert policy
    with redis.Redis.from_url(redis_url, socket_timeout=None) as client:
        app.send_task("deadheat.build", (7,))
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 4_000_000)
        assert [finding.verdict for finding in check_broker(chosen)] == [Verdict.GOOD, Verdict.REMARK]
        client.config_set("maxmemory-policy", policy[1])
        assert [finding.verdict for finding in check_broker(chosen)] == [Verdict.GOOD]
        for number in range(40):
            fill(client, number)
        assert client.info("stats")["evicted_keys"] > 0
        app.send_task("deadheat.build", (8,))
        check(chosen, 60)
        waiting = [json.loads(base64.b64decode(json.loads(one)["body"]))[0] for one in client.lrange("build", 0, -1)]
        assert waiting == [[8], [7]]
    app.close()


def fill(client: redis.Redis, part: int) -> None:
    """Write a thousand counts, each of which ends in two hours."""
    with client.pipeline(transaction=False) as pipe:
        for number in range(1000):
            pipe.set(f"LIMITS:{part}/{number}", "x" * 100, ex=7200)
        pipe.execute()


class Folder:
    """A queue's folder, and connections to it as processes have them."""

    def __init__(self, folder: Path) -> None:
        self.app = celery_app(settings(folder, broker_url=""))
        self.path = Path(self.app.conf.broker_transport_options["data_folder_in"])
        self.open: list[Connection] = []

    def send(self, *numbers: int) -> None:
        for number in numbers:
            self.app.send_task("deadheat.build", (number,))

    def files(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if path.is_file())

    def reader(self) -> SimpleQueue:
        connection = self.app.connection_for_read()
        self.open.append(connection)
        return connection.SimpleQueue("build")

    def close(self) -> None:
        for connection in self.open:
            connection.release()
        self.app.close()


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()


def taken(reader: SimpleQueue) -> list[int]:
    """Return the numbers of all waiting messages, in order to the millisecond."""
    found: list[int] = []
    while True:
        try:
            message = reader.get(block=False)
        except reader.Empty:
            return found
        message.ack()
        found.append(message.payload[0][0])


def test_each_message_is_read_by_one_process_and_leaves_nothing(queue: Folder, tmp_path: Path, monkeypatch) -> None:
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    first, second = queue.reader(), queue.reader()
    queue.send(*range(5))
    assert len(queue.files()) == 5
    assert sorted([*first.get(block=False).payload[0], *taken(second)]) == [0, 1, 2, 3, 4]
    assert taken(first) == []
    assert (queue.files(), list(elsewhere.iterdir())) == ([], [])


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"3", b"[]", b'{"body": ""}'])
def test_a_damaged_message_is_dropped_and_the_next_one_is_read(queue: Folder, damage: bytes, caplog) -> None:
    queue.send(1)
    queue.files()[0].write_bytes(damage)
    queue.send(2)
    assert taken(queue.reader()) == [2]
    assert "a damaged message is dropped" in caplog.text
    assert queue.files() == []


def test_what_another_program_left_there_harms_nothing(queue: Folder) -> None:
    queue.send(1)
    folder = queue.path / "control"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "build.exchange").write_text(dumps([["build", "", "elsewhere"]])[:-3])
    (queue.path / "1_x.build.msg.partial").write_text("{")
    queue.send(2)
    assert sorted(taken(queue.reader())) == [1, 2]
