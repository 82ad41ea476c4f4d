"""A match sees nothing of what the match before it in the same box did."""

import faulthandler
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerSandbox
from tests.hostile.readings import READER, differing, remembered, told
from tests.sandbox.boxes import python

pytestmark = pytest.mark.containers


@pytest.fixture(autouse=True)
def unhurried() -> None:
    faulthandler.cancel_dump_traceback_later()  # on a busy host these tests take minutes


def test_a_match_remembers_nothing(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    with closing(docker_sandbox.open(python(tmp_path, READER), Limits(cpus="0"))) as box:
        assert len(told(box, [False])[0]) > 100
        assert remembered(box) == {}


def test_what_one_room_would_remember_is_found(docker_sandbox: DockerSandbox, tmp_path: Path, monkeypatch) -> None:
    """The search finds something where all matches are played in one room."""
    with closing(docker_sandbox.open(python(tmp_path, READER), Limits(cpus="0"))) as box:
        channel = box.start()
        for name, does in {"start": lambda: channel, "ask_stop": lambda _: None, "stopped": lambda: None}.items():
            monkeypatch.setattr(box, name, does)
        found = differing(told(box))
    assert {"a child's number", "a file's number"} <= set(found), found
