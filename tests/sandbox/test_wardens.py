"""What a bot can do to the processes that make and end its room (images/init.c)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.sandbox.box import Box
from deadheat.sandbox.docker import DockerSandbox
from tests.sandbox.boxes import INSIDER, SMALL, inside, python, stop

pytestmark = pytest.mark.containers


@pytest.fixture
def box(docker_sandbox: DockerSandbox, tmp_path: Path) -> Iterator[Box]:
    with closing(docker_sandbox.open(python(tmp_path, INSIDER), SMALL)) as opened:
        yield opened


def test_names_of_files_may_begin_with_a_space(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    program = python(tmp_path, INSIDER)
    for name in ("a", " a", "  a"):
        (program.directory / name).write_text(name)
    with closing(docker_sandbox.open(program, SMALL)) as box:
        assert inside(box)("[text('/bot/' + name) for name in ('a', ' a', '  a')]") == "['a', ' a', '  a']"


def test_a_room_ends_however_many_others_have_begun_meanwhile(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    program = python(tmp_path, INSIDER)
    with closing(docker_sandbox.open(program, SMALL)) as box, closing(docker_sandbox.open(program, SMALL)) as other:
        inside(box)("1")
        for _ in range(15):  # may make more numbers than a processor gets at once
            other.start()
            stop(other, 0)
        stop(box, 0)
        assert inside(box)("1") == "1"


@pytest.mark.parametrize(
    "attempt",
    [
        "call(317, 1, 0, struct.pack('HxxxxxxQ', 1, 0))",  # a filter
        "[call(157, 22, 2, struct.pack('HxxxxxxQ', 1, 0), 0, 0)]",
        "call(72, os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1036, struct.pack('Q', 3))",  # a hint about a file
        "call(72, os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1038, struct.pack('Q', 3))",
    ],
)
def test_what_the_host_would_note_or_keep_is_refused(box: Box, attempt: str) -> None:
    said = inside(box)(attempt)
    assert "Errno 1]" in said or "Errno 38]" in said


def test_processes_have_the_same_numbers_in_every_match(box: Box) -> None:
    for _ in range(3):
        ask = inside(box)
        assert ask("os.getpid()") == "3"  # 2 is the warden's thread
        assert ask("[child(), child()]") == "[4, 5]"
        stop(box, 0)
