"""The search for what a box leaves behind finds each kind of thing that is left on purpose."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
    yield opened
    opened.traces.close()
    opened.close()


@contextmanager
def a_box(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    (tmp_path / "bot").mkdir(exist_ok=True)
    box = sandbox.open(Program(tmp_path / "bot", ("/bin/sleep", "99"), "test"), Limits())
    box.start()
    try:
        yield
    finally:
        box.close()


@contextmanager
def a_file(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "run" / "left"
    path.touch()
    yield
    path.unlink()


@contextmanager
def a_fifo(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "run" / "left"
    os.mkfifo(path)
    yield
    path.unlink()


@contextmanager
def a_mount(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "left", tmp_path / "run"], check=True)
    yield
    subprocess.run(["umount", tmp_path / "run"], check=True)


@contextmanager
def a_descriptor(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    ends = os.pipe()
    yield
    for end in ends:
        os.close(end)


@contextmanager
def a_file_of_the_bots_user(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    path = Path(f"/dev/shm/left-{os.getpid()}")
    path.touch()
    os.chown(path, user(sandbox), -1)
    yield
    path.unlink()


@contextmanager
def a_process_of_the_bots_user(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    child = subprocess.Popen(["sleep", "99"], user=user(sandbox), start_new_session=True)
    yield
    child.kill()
    child.wait()


@contextmanager
def shared_memory_of_the_bots_user(sandbox: WatchedSandbox, tmp_path: Path) -> Iterator[None]:
    made = subprocess.run(["ipcmk", "-M", "4096"], user=user(sandbox), check=True, capture_output=True, text=True)
    yield
    subprocess.run(["ipcrm", "-m", made.stdout.split()[-1]], check=True)


def user(sandbox: WatchedSandbox) -> int:
    (found,) = sandbox.traces.users
    return found


Plant = Callable[[WatchedSandbox, Path], AbstractContextManager[None]]


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (a_box, ["container", "process", "control group", "engine's directory", "FIFO", "descriptor"]),
        (a_file, ["file"]),
        (a_fifo, ["FIFO"]),
        (a_mount, ["mount"]),
        (a_descriptor, ["descriptor"]),
        (a_file_of_the_bots_user, ["file /dev/shm/left"]),
        (a_process_of_the_bots_user, ["process", "child"]),
        (shared_memory_of_the_bots_user, ["System V shm"]),
    ],
)
def test_what_is_left_is_found_and_told(
    sandbox: WatchedSandbox, tmp_path: Path, plant: Plant, found: list[str]
) -> None:
    with a_box(sandbox, tmp_path):
        pass  # other programs then get its user
    with (
        ExitStack() as planted,
        pytest.raises(AssertionError, match="left behind") as caught,
        nothing_left(sandbox.traces, tmp_path / "run", patience_s=1),
    ):
        planted.enter_context(plant(sandbox, tmp_path))
    lines = str(caught.value).splitlines()
    for kind in found:
        assert [line for line in lines if line.startswith(kind)], (kind, lines)


def test_a_box_that_was_closed_leaves_nothing(sandbox: WatchedSandbox, tmp_path: Path) -> None:
    with nothing_left(sandbox.traces, tmp_path / "run"), a_box(sandbox, tmp_path):
        pass
