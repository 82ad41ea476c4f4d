"""The search for what a box leaves behind finds everything that is left on purpose."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deadheat.league.config import Settings
from deadheat.sandbox.box import Limits, Program
from tests.hostile.residue import nothing_left
from tests.hostile.zoo import WatchedSandbox

pytestmark = pytest.mark.containers


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[WatchedSandbox]:
    opened = WatchedSandbox(Settings(), tmp_path / "run")
    opened._wall("")  # walls stay
    yield opened
    opened.traces.close()
    opened.close()


def a_box(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir(exist_ok=True)
    box = sandbox.open(Program(tmp_path / "bot", ("/bin/sh", "-c", "read line"), "test"), Limits())
    left.callback(box.close)
    box.start()


def a_file(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    path = tmp_path / "run" / "left"
    path.touch()
    left.callback(path.unlink)


def a_fifo(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    path = tmp_path / "run" / "left"
    os.mkfifo(path)
    left.callback(path.unlink)


def a_mount(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "left", tmp_path / "run"], check=True)
    left.callback(lambda: subprocess.run(["umount", tmp_path / "run"], check=True))


def a_descriptor(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    for end in os.pipe():
        left.callback(os.close, end)


def a_file_of_the_bots_user(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    path = Path(f"/dev/shm/left-{os.getpid()}")
    path.touch()
    left.callback(path.unlink)
    os.chown(path, user(sandbox), -1)


def a_process_of_the_bots_user(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "99"], user=user(sandbox), start_new_session=True)
    left.callback(child.wait)
    left.callback(child.kill)


def shared_memory_of_the_bots_user(left: ExitStack, sandbox: WatchedSandbox, tmp_path: Path) -> None:
    made = subprocess.run(["ipcmk", "-M", "4096"], user=user(sandbox), check=True, capture_output=True, text=True)
    left.callback(lambda: subprocess.run(["ipcrm", "-m", made.stdout.split()[-1]], check=True))


def user(sandbox: WatchedSandbox) -> int:
    return min(sandbox.traces.users)


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (a_box, ["process", "engine's directory", "descriptor"]),
        (a_file, ["file"]),
        (a_fifo, ["FIFO"]),
        (a_mount, ["mount"]),
        (a_descriptor, ["descriptor"]),
        (a_file_of_the_bots_user, ["file /dev/shm/left"]),
        (a_process_of_the_bots_user, ["process", "child"]),
        (shared_memory_of_the_bots_user, ["System V shm"]),
    ],
)
def test_what_is_left_is_found_and_said(sandbox: WatchedSandbox, tmp_path: Path, plant, found: list[str]) -> None:
    with ExitStack() as stack:
        a_box(stack, sandbox, tmp_path)  # other programs then get its user
    with (
        ExitStack() as left,
        pytest.raises(AssertionError, match="left behind") as caught,
        nothing_left(sandbox.traces, tmp_path / "run", looks=10),
    ):
        plant(left, sandbox, tmp_path)
    lines = str(caught.value).splitlines()
    for kind in found:
        assert [line for line in lines if line.startswith(kind)], (kind, lines)


def test_a_box_that_was_closed_leaves_nothing(sandbox: WatchedSandbox, tmp_path: Path) -> None:
    with nothing_left(sandbox.traces, tmp_path / "run"), ExitStack() as stack:
        a_box(stack, sandbox, tmp_path)
