"""`serve` starts copies of itself, which behave like programs of their own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from deadheat.league import measured
from tests.league.ground import migrated_file

SERVE = """
import os, signal, sys, time
from pathlib import Path
from deadheat.cli.operator.tree import Tree

folder = Path(sys.argv[1])
tree = Tree({}, forks=True)
for name in sys.argv[2:]:
    tree.add(name, [name])
part = tree.run()
if not part:
    sys.exit((folder / "parent-ends").touch())
import atexit
atexit.register((folder / f"{part[0]}-ends").touch)
if part == ["stubborn"]:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
partial = folder / f"{os.getpid()}.partial"
partial.write_text(str(os.getpid()))
partial.rename(folder / part[0])
if part == ["fails"]:
    sys.exit(3)
while True:
    time.sleep(0.05)
"""

COUNTS = """
import os
from deadheat.cli.operator import deployment, tree

def run(self):
    copy = tree.fork(["counts"])
    if copy is None:
        from deadheat.workers import metrics
        metrics.tasks_done.labels("tick").inc(3)
        os._exit(0)
    assert copy.wait() == 0

tree.Tree.run = run
deployment.serve()
"""
PATIENCE_SECONDS = 60


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def begin(*names: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SERVE, str(tmp_path), *names]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def started(tmp_path: Path, name: str) -> int:
    file = tmp_path / name
    until = time.monotonic() + PATIENCE_SECONDS
    while not file.exists():
        assert time.monotonic() < until, f"{name} does not run"
        time.sleep(0.02)
    pid = int(file.read_text())
    file.unlink()
    return pid


def gone(pid: int) -> bool:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_a_copy_is_shown_as_what_it_does_and_leads_a_session_of_its_own(tmp_path: Path, serve) -> None:
    parent = serve("api", "keeper")
    for name in ("api", "keeper"):
        pid = started(tmp_path, name)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        assert words == [b"python", b"-m", b"deadheat.cli.main", name.encode()]
        assert (os.getpgid(pid), os.getsid(pid)) == (pid, pid)
        assert int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == parent.pid


def test_a_copy_that_ends_is_started_again_and_the_log_has_its_exit_code(tmp_path: Path, serve) -> None:
    tree = serve("fails", "api")
    first = started(tmp_path, "api")
    os.kill(first, signal.SIGKILL)
    assert started(tmp_path, "fails") != started(tmp_path, "fails")
    assert started(tmp_path, "api") != first
    tree.terminate()
    log = tree.communicate(timeout=PATIENCE_SECONDS)[1]
    assert "fails ended with code 3; starting it again" in log and "api ended with code -9; starting it again" in log
    assert (tmp_path / "fails-ends").exists(), "it ends as every interpreter does"
    assert not (tmp_path / "api-ends").exists()


def test_copies_have_a_new_programs_signals_and_end_with_their_parent(tmp_path: Path, serve) -> None:
    tree = serve("api", "stubborn")
    pids = [started(tmp_path, name) for name in ("api", "stubborn")]
    tree.send_signal(signal.SIGINT)
    assert tree.wait(PATIENCE_SECONDS) == 0
    assert all(not Path(f"/proc/{pid}").exists() for pid in pids)
    ended = {file.name for file in tmp_path.iterdir()}
    assert ended == {"parent-ends", "stubborn-ends"}, "SIGTERM ends one that does not handle it at once"


def test_copies_of_a_parent_that_is_killed_are_told_by_the_kernel(tmp_path: Path, serve) -> None:
    tree = serve("api", "stubborn")
    pids = [started(tmp_path, name) for name in ("api", "stubborn")]
    tree.kill()
    assert all(map(gone, pids))
    assert (tmp_path / "stubborn-ends").exists()
    assert not (tmp_path / "parent-ends").exists()


def test_what_a_copy_counts_is_told(tmp_path: Path) -> None:
    shutil.copy(migrated_file(), tmp_path)
    told = {"DATA_DIR": str(tmp_path), "PORT": "0", "SANDBOX": "local", "LOG_LEVEL": "ERROR"}
    environment = {**os.environ, **{f"DEADHEAT_{name}": value for name, value in told.items()}}
    subprocess.run([sys.executable, "-c", COUNTS], env=environment, check=True, timeout=PATIENCE_SECONDS)
    registry = CollectorRegistry()
    measured.Sums(registry, tmp_path / "metrics", "w1")
    assert registry.get_sample_value("deadheat_tasks_done_total", {"task": "tick", "host": "w1"}) == 3
    idle = {"task": "sweep", "host": "w1"}
    assert registry.get_sample_value("deadheat_tasks_done_total", idle) == 0, "a rate needs the zeros"
