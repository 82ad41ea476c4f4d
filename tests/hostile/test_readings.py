"""A match reads nothing that the match before it in the same box has pushed. The search for that can find something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.league.config import Settings
from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerBox, DockerSandbox
from tests.hostile.readings import READER, remembered, told
from tests.sandbox.test_docker import python

pytestmark = pytest.mark.containers

PUSHES = (False, False, True, False, True, False, False)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[DockerSandbox]:
    opened = DockerSandbox(Settings().image, tmp_path / "run")
    yield opened
    opened.close()


def test_a_match_remembers_nothing(sandbox: DockerSandbox, tmp_path: Path) -> None:
    box = sandbox.open(python(tmp_path, READER), Limits(cpus="0"))
    try:
        series = told(box, PUSHES)
    finally:
        box.close()
    assert len(series[0]) > 100
    assert remembered(series, PUSHES) == {}


def test_what_one_container_would_remember_is_found(sandbox: DockerSandbox, tmp_path: Path, monkeypatch) -> None:
    """Use a container that is kept although init renews nothing inside."""
    monkeypatch.setattr(DockerBox, "_begin_anew", lambda _: None)
    box = sandbox.open(python(tmp_path, READER), Limits(cpus="0", building=True))
    try:
        found = remembered(told(box, PUSHES), PUSHES)
    finally:
        box.close()
    assert {"own number", "a child's number", "a file's number"} <= set(found), found
