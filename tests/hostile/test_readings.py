"""A match sees nothing of what the match before it in the same box did."""

from __future__ import annotations

import faulthandler
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.local import LocalSandbox
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


def test_what_a_host_remembers_is_found(tmp_path: Path) -> None:
    """The search finds something where nothing is made anew for each match."""
    with closing(LocalSandbox().open(python(tmp_path, READER), Limits())) as box:
        found = differing(told(box))
    assert {"own number", "a child's number"} <= set(found), found
