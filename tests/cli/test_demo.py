"""What the demonstration does while its server is not ready; tests/end_to_end shows that it works."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest

from deadheat.cli.operator import demo
from deadheat.cli.server.api_client import Refused
from tests.league.ground import settings


class Unready:
    """A client whose server is ready at try number `answers_at`."""

    answers_at = 0

    def __init__(self, _: str) -> None:
        self.tries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, *_: str) -> None:
        self.tries += 1
        if self.tries < self.answers_at:
            raise Refused(503, "not-ready", "Not yet.")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A running server with a log. The clock advances ten seconds at each reading."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "serve.log").write_text("starting\nmigrating the database [0017]\n")
    clock = SimpleNamespace(monotonic=itertools.count(0, 10).__next__, sleep=lambda _: None)
    monkeypatch.setattr(demo, "time", clock)
    monkeypatch.setattr(demo, "Client", Unready)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def test_a_slow_server_is_awaited_and_quoted(
    server: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Unready, "answers_at", 30)
    demo.wait_until_ready("http://nowhere", server, settings(tmp_path))
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "    The server is not ready after 20 s; its last log line: migrating the database [0017]"
    assert 10 < len(told) < 20


def test_a_server_that_ends_is_not_waited_for(server: subprocess.Popen[bytes], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Unready, "answers_at", 1_000_000)
    server.kill()
    server.wait()
    with pytest.raises(demo.Broken, match="the server ended: migrating the database"):
        demo.wait_until_ready("http://nowhere", server, settings(tmp_path))
