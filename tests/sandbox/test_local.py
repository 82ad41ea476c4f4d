"""Plain programs: nothing of a run outlives it, and what they write to stderr costs them nothing."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deadheat.engine.core import NS_PER_MS, NS_PER_S, STDERR_KEPT_BYTES, Reply
from deadheat.sandbox import local
from deadheat.sandbox.box import HEAD_BYTES, TAIL_BYTES, Box, Limits, Program, SandboxError
from deadheat.sandbox.local import CUT_BYTES, LocalSandbox, ProcessMeter, Stderr
from tests.sandbox.boxes import asker, stop, until

OFFSPRING = """
import subprocess, sys
def child(*before):
    group = None if before else 0
    return subprocess.Popen([*before, "sleep", "1000"], start_new_session=bool(before), process_group=group).pid
print(child(), child("env"), child("nohup"), flush=True)
subprocess.run(["setsid", "-f", "sh", "-c", "echo $$ >&2; exec sleep 1000"], check=True)
input()
"""


@contextmanager
def running(code: str, folder: Path) -> Iterator[tuple[Box, Callable[[str], Reply]]]:
    with closing(LocalSandbox().open(Program(folder, (sys.executable, "-ISc", code), "test"), Limits())) as box:
        yield box, asker(box)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened or read
        return False


def test_children_in_sessions_of_their_own_end_with_the_run(tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        with running(f"input()\n{OFFSPRING}", tmp_path) as (box, ask):
            line = ask("GO").line
            assert line is not None
            assert until(box.stderr_so_far)
            children = [*map(int, line.split()), *map(int, box.stderr_so_far().split())]
            assert [lives(pid) for pid in children] == [True] * 4
            assert stop(box, 0).lingered
            until(lambda: not any(map(lives, children)))  # they were killed, and their present parent now reaps them
            assert [lives(pid) for pid in children] == [False] * 4
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


REFEREE = """
import os, sys
from pathlib import Path
from deadheat.sandbox.box import Limits, Program
from deadheat.sandbox.local import LocalSandbox, ProcessMeter
pids = []
for code in sys.argv[1:]:
    box = LocalSandbox().open(Program(Path("."), (sys.executable, "-ISc", code), "test"), Limits())
    output = box.start().stdout_fd
    os.set_blocking(output, True)
    pids += [str(box._running.pid), *os.read(output, 100).decode().split()]
print(*pids, flush=True)
input()
"""
COMPUTES = "import os\nprint(os.getpid(), flush=True)\nwhile True: pass"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_bots_end_with_a_referee_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    bystander = subprocess.Popen(["sleep", "1000"], env={"DEADHEAT_RUN": "another's"})
    command = [sys.executable, "-c", REFEREE, COMPUTES, OFFSPRING]
    referee = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert referee.stdin is not None and referee.stdout is not None
    try:
        bots = list(map(int, referee.stdout.readline().split()))
        assert len(bots) == 6
        assert all(map(lives, bots))
        referee.send_signal(number)
        referee.wait()
        until(lambda: not any(map(lives, bots)))
        assert not any(map(lives, bots))
        assert bystander.poll() is None
    finally:
        for process in (referee, bystander):
            process.kill()
            process.wait()
        referee.stdin.close()
        referee.stdout.close()


def test_a_plain_bot_sees_little_of_its_authors_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADHEAT_TOKEN", "secret")
    with running("import os\ninput()\nprint(sorted(os.environ))", tmp_path) as (_, ask):
        line = ask("GO").line
    assert line is not None and "PATH" in line and "TOKEN" not in line


SITUATION = "read -r _; set -- $(cat /proc/$$/stat); echo $PWD $6 $$ $(grep SigIgn /proc/$$/status) /proc/$$/fd/*"


def test_a_plain_bot_has_its_directory_its_session_its_files_and_the_usual_signals(tmp_path: Path) -> None:
    before = Path.cwd()
    with Path(os.devnull).open() as given:
        os.set_inheritable(given.fileno(), True)
        local._keep_open_files_once.cache_clear()
        box = LocalSandbox().open(Program(tmp_path, ("sh", "-c", SITUATION), "test"), Limits())
        line = asker(box)("GO").line
        box.close()
    assert line is not None
    directory, session, process, _, ignored, *files = line.split()
    assert (Path(directory), session) == (tmp_path, process)
    assert not int(ignored, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
    assert [Path(file).name for file in files] == ["0", "1", "2", "3"]  # the last is the folder that it lists
    assert Path.cwd() == before


def test_a_program_that_cannot_start_leaves_this_process_where_it_was(tmp_path: Path) -> None:
    before = Path.cwd()
    with pytest.raises(SandboxError, match="cannot start test"):
        LocalSandbox().open(Program(tmp_path, ("./missing",), "test"), Limits()).start()
    assert Path.cwd() == before


def test_a_flood_on_stderr_does_not_end_a_program(tmp_path: Path) -> None:
    """The first and last bytes of a hundred megabytes are kept, as in a container."""
    code = """
import os
os.write(2, b"first\\n")
for n in range(int(input())):
    for _ in range(20): os.write(2, b"%1000000d" % n)
    print("OK", flush=True)
    input()
os.write(2, b"last\\n")
"""
    with running(code, tmp_path) as (box, ask):
        assert ask("5").line == "OK"
        for _ in range(4):
            assert ask("GO").line == "OK"
        assert ask("GO").line is None  # it ends
        ended = stop(box)
    assert (ended.exit_code, ended.signal) == (0, None)
    assert ended.stderr.startswith(b"first\n")
    assert ended.stderr.endswith(b"last\n")  # earlier output may have come while the file was cut
    left_out = re.search(rb"\n\[\.\.\. ([0-9]+) bytes left out \.\.\.\]\n", ended.stderr)
    assert left_out is not None
    assert 50_000_000 < int(left_out[1]) <= 100_000_000, "less what was written while the file was cut"
    assert len(ended.stderr) <= STDERR_KEPT_BYTES


def test_stderr_is_whole_until_there_is_too_much() -> None:
    stderr = Stderr()
    try:
        assert stderr.kept() == b""
        whole = bytes(range(256)) * (HEAD_BYTES // 256) + b"x" * TAIL_BYTES
        for start in range(0, len(whole), 5000):
            stderr_write(stderr, whole[start : start + 5000])
            stderr.cut()
            assert stderr.kept() == whole[: start + 5000]
        stderr_write(stderr, b"y" * CUT_BYTES)
        before = stderr.kept()
        stderr.cut()
        assert stderr.kept() == before
    finally:
        stderr.close()


def stderr_write(stderr: Stderr, data: bytes) -> None:
    with open(stderr.fd, "ab", closefd=False) as file:
        file.write(data)


def test_a_wait_that_lasts_is_seen() -> None:
    """A program that hardly gets a processor waits for long; one that sleeps does not wait for a processor."""
    idle = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"
    spin, sleep = f"{idle}\nwhile True: pass", "import time; print('starts', flush=True); time.sleep(600)"
    cpu = min(os.sched_getaffinity(0))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{cpu}])\n{text}"], stdout=subprocess.PIPE
        )
        for text in ("while True: pass", spin, sleep)
    ]
    try:
        meters = [ProcessMeter(one.pid, Stderr()) for one in started[1:]]
        # Before the program has run, a wait may be arbitrarily long.
        assert until(lambda: 20 * NS_PER_MS <= meters[0].waiting_ns() < NS_PER_S, 20)
        assert started[2].stdout is not None and started[2].stdout.readline()
        assert until(lambda: not meters[1].waiting_ns(), 20)
        assert started[2].poll() is None
    finally:
        for one in started:
            one.kill()
            one.communicate()
