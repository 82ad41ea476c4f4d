"""The embedded queue, as a worker's process reads it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kombu import Connection
from kombu.simple import SimpleQueue
from kombu.utils.json import dumps

from deadheat.workers.broker.queue import celery_app
from tests.league.ground import settings


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
