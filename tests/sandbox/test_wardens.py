"""What a bot can do to the processes that make and end its room (images/init.c)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.engine.core import Fault
from deadheat.sandbox.box import Box, bot_limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.rooms import Room
from tests.sandbox.boxes import INSIDER, SMALL, asker, inside, python, stop

pytestmark = pytest.mark.containers

HOLD = """
import threading
ends = socket.socketpair()
def hold(fd): threading.Thread(target=os.sendfile, args=(fd, ends[0].fileno(), None, 8), daemon=True).start()
def fill_and_hold():
    if os.fork() == 0:
        os.write(2, b"x" * 60000)
        os.sendfile(2, ends[0].fileno(), None, 8)
"""
"""A socket that stays empty is moved to a pipe, whose lock the call holds meanwhile. What was written before makes the
warden read."""

TABLES = """
libc.mmap.restype = ctypes.c_void_p
def tables(count):
    libc.prctl(41, 1, 0, 0, 0)  # no huge pages
    at = libc.mmap(None, ctypes.c_size_t(count << 21), 1, 0x4022, -1, ctypes.c_long(0))
    for number in range(count): ctypes.c_byte.from_address(at + (number << 21)).value
"""
"""Reading one byte in every 2 MiB takes a page for the table of mappings each, which the kernel frees late."""


@pytest.fixture
def box(docker_sandbox: DockerSandbox, tmp_path: Path) -> Iterator[Box]:
    insider = INSIDER.replace("for line in", f"{HOLD}{TABLES}\nfor line in", 1)
    with closing(docker_sandbox.open(python(tmp_path, insider), bot_limits([0]))) as opened:
        yield opened


def test_a_bot_that_holds_the_lock_of_its_stderr_is_stopped_like_any_other(box: Box) -> None:
    ask = inside(box)
    ask("fill_and_hold()")
    ask("time.sleep(0.5)")
    end = stop(box, 0)
    assert end.lingered and end.stderr.startswith(b"xxx")
    assert inside(box)("1") == "1"


def test_a_bot_that_leaves_while_a_child_holds_the_lock_of_its_stderr_is_gone(box: Box) -> None:
    ask = asker(box)
    ask("fill_and_hold()")
    ask("time.sleep(0.5)")
    assert ask("os._exit(3)").fault is Fault.EXITED
    assert stop(box).exit_code == 3


def test_a_room_that_is_not_wanted_any_longer_ends_though_the_lock_of_its_stderr_is_held(box: Box) -> None:
    ask = inside(box)
    ask("fill_and_hold()")
    ask("time.sleep(0.5)")
    assert isinstance(box, Room)
    groups = [*box._groups.values()]
    assert groups
    assert inside(box)("1") == "1"  # in the next room
    assert not [group for group in groups if group.exists()]  # somebody would still be there


def test_a_bot_whose_memory_outlives_it_is_gone_and_its_warden_says_so(box: Box) -> None:
    """The kernel frees tables of mappings some milliseconds after a process has ended."""
    for _ in range(5):
        ask = asker(box)
        ask("os.write(2, b'x' * 60000)")
        assert ask("tables(300000)").fault is Fault.MEMORY
        assert stop(box).signal == 9


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
