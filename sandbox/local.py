"""Boxes without isolation: plain subprocesses, for development and for the local kit.

NOT A SANDBOX. A bot runs as the current user, with that user's files, network and memory, but little of the environment
(`KEPT`); only the clock and the protocol are the judge's. Nothing uses this backend unless it is requested by name.

A bot of the local kit runs in a copy of its folder (`sandbox.copies`), as fresh in each match as under the judge.

At its end a run's processes are killed: the bot's process group, the rest of its session, and all processes with the
run's mark in their environment, which catches children with a session of their own. A program that hides its children
on purpose keeps them: to learn of every child, this process would have to adopt all orphans (PR_SET_CHILD_SUBREAPER),
also those of its other children.

If this process is killed first, a shell beside it kills them. It reads from a pipe whose other end only this process
has, so it wakes when the process is gone, however it ended.
"""

import contextlib
import fcntl
import itertools
import os
import resource
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from time import clock_gettime_ns

from deadheat.engine.core import NS_PER_S
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import (
    ENVIRONMENT,
    HEAD_BYTES,
    TAIL_BYTES,
    Box,
    Channel,
    Exit,
    Limits,
    Meter,
    Plain,
    Program,
    SandboxError,
)
from deadheat.sandbox.cgroup import NONE, SHORT_BYTES, TIMES, leader_times, opened, read_now
from deadheat.sandbox.copies import Copies
from deadheat.sandbox.host.slots import pinned
from deadheat.sandbox.pipes import readable

REAP_TIMEOUT_S = 10

MARK = "DEADHEAT_RUN"
"""The variable that every process of a run inherits."""

_ORPHANS_END = """
exec 3<&0
{
    read -r _ <&3
    for round in 1 2 3; do
        for file in $(grep -alF "$1" /proc/[0-9]*/environ); do
            number=${file#/proc/}
            kill -9 "${number%/environ}"
        done
    done
} &
"""
"""Runs in the background, so that it is no child of this process. It takes three rounds, because a process may start
another just before it is killed."""

KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
"""The variables that a plain program gets from its author's environment, besides those of a confined one."""

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these signals; programs end by them, as usual."""

MOST_NEW = 1000
"""If more processes than this began since the bot did, all are examined instead of those numbered after it."""

MOST_ROUNDS = 20
"""How often a run's processes are searched for, because a killed one may just have started another."""

CUT_BYTES = 4 * 1024 * 1024
"""The size at which the file is cut. A check costs a microsecond, a cut some fifty."""

MAX_FILE_BYTES = 1024 * 1024 * 1024
"""A plain program's RLIMIT_FSIZE: an endless loop of messages, at 4 GB/s, must not take all the memory."""


class Stderr:
    """The file in memory that a program gets as its stderr, of which the ends are kept. Close it. Nobody could read a
    pipe here: the referee's process does nothing else while a clock runs. So the file is cut whenever the referee reads
    the program's counters anyway; `MAX_FILE_BYTES` bounds what is written between two readings.
    """

    def __init__(self) -> None:
        self.fd = os.memfd_create("stderr")  # a third of the cost of a file in /tmp, and needs no removal
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_APPEND)  # writes go to the end, even after the file is cut
        self._head = b""
        self._left_out = 0

    def cut(self) -> None:
        """Drop the middle if the file is large. Text that the program writes at this very moment may be lost too."""
        size = os.lseek(self.fd, 0, os.SEEK_END)  # a third of the cost of fstat; writes go to the end anyway
        if size < CUT_BYTES:
            return
        head = b"" if self._head else os.pread(self.fd, HEAD_BYTES, 0)
        tail = os.pread(self.fd, TAIL_BYTES, size - TAIL_BYTES)
        os.ftruncate(self.fd, 0)
        os.write(self.fd, tail)
        self._head = self._head or head
        self._left_out += size - len(head) - len(tail)

    def kept(self) -> bytes:
        """Return the text kept so far, without moving the file's offset, which the program shares."""
        size = os.fstat(self.fd).st_size
        if not size and not self._left_out:
            return b""
        head = self._head or os.pread(self.fd, HEAD_BYTES, 0)
        rest = size if self._head else size - len(head)
        tail = os.pread(self.fd, min(rest, TAIL_BYTES), size - min(rest, TAIL_BYTES))
        left_out = self._left_out + rest - len(tail)
        return head + (b"\n[... %d bytes left out ...]\n" % left_out if left_out > 0 else b"") + tail

    def close(self) -> None:
        """Release the file and its memory."""
        os.close(self.fd)


class LocalSandbox(Plain):
    """See `sandbox.box.Sandbox`. Of the limits it knows only the processors."""

    def __init__(self, copies: Path | None = None) -> None:
        """Bots run in copies below the folder `copies`, or, without one, where they were built."""
        self._copies = None if copies is None else Copies(copies)

    def open(self, program: Program, limits: Limits) -> Box:
        return LocalBox(program, limits, None if limits.building else self._copies)


class LocalBox:
    """A program as a subprocess per run, in its own session. See `sandbox.box.Box`."""

    def __init__(self, program: Program, limits: Limits, copies: Copies | None = None) -> None:
        self._program = program
        self._limits = limits
        self._copies = copies
        self._copy = copies.take(program.directory) if copies else None
        self._environment = ENVIRONMENT | {name: os.environ[name] for name in KEPT if name in os.environ}
        self._running: Run | None = None
        self._fds: list[int] = []  # our ends of the run's pipes
        self._stderr: Stderr | None = None
        self._meter: ProcessMeter | None = None
        self._grace_ends = 0.0
        self._favoured = True

    def begin(self, stdin: int, stdout: int, stderr: int) -> "Run":
        """Start the program with these descriptors. Raises SandboxError."""
        try:
            folder = self._copy.fresh() if self._copy else self._program.directory
        except (OSError, shutil.Error) as error:
            raise SandboxError("no-start", f"cannot copy {self._program.label}: {error}") from error
        return Run(replace(self._program, directory=folder), self._environment, stdin, stdout, stderr)

    def start(self) -> Channel:
        assert self._running is None
        stdin, to_bot = os.pipe()
        from_bot, stdout = os.pipe()
        self._fds = [to_bot, from_bot]
        self._stderr = Stderr()
        try:
            with pinned(self._limits.cpu_numbers):  # which the program inherits
                self._running = self.begin(stdin, stdout, self._stderr.fd)
                self._meter = ProcessMeter(self._running.pid, self._stderr)
        except SandboxError:
            self._close_files()
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        os.set_blocking(to_bot, False)
        os.set_blocking(from_bot, False)
        kill = partial(self._running.signal, signal.SIGKILL)
        return Channel(to_bot, from_bot, meter=self._meter, kill=kill)

    def _close_files(self) -> None:
        while self._fds:
            os.close(self._fds.pop())
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def favour(self, yes: bool) -> None:
        """An ordinary user may not give back the weight that he took: a program that is not favoured is stopped."""
        self._favoured = yes
        self._go(yes)

    def rest(self, yes: bool) -> None:
        self._go(self._favoured and not yes)

    def _go(self, yes: bool) -> None:
        if self._running is not None:
            self._running.signal(signal.SIGCONT if yes else signal.SIGSTOP)

    def stderr_so_far(self) -> bytes:
        assert self._stderr is not None
        return self._stderr.kept()

    def ask_stop(self, grace_ns: int) -> None:
        self._grace_ends = time.monotonic() + grace_ns / NS_PER_S

    def stopped(self) -> Exit:
        running, meter, stderr = self._running, self._meter, self._stderr
        assert running is not None and meter is not None and stderr is not None
        lingered = not wait(running.ended_pid, self._grace_ends - time.monotonic())
        code, signalled = running.end()
        meter.close()
        kept = stderr.kept()
        self._close_files()
        self._running = self._meter = None
        return Exit(None, None, True, kept) if lingered else Exit(code, signalled, False, kept)

    def close(self) -> None:
        if self._running is not None:
            self.ask_stop(0)
            self.stopped()
        if self._copy is not None and self._copies is not None:
            self._copies.give_back(self._copy)
            self._copy = None


class Run:
    """A run's processes: `pid` is the bot's first one, which is measured, and `ended_pid` ends when that has ended."""

    def __init__(self, program: Program, environment: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> None:
        mark = f"{_watched_prefix()}{next(_numbers)}"
        self._mark = f"{MARK}={mark}".encode()
        _keep_open_files_once()
        files = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((stdin, stdout, stderr))]
        with _away:  # `subprocess` would need 60 us more
            here = os.open(".", os.O_PATH | os.O_CLOEXEC)
            try:
                os.chdir(program.directory)
                self.pid = self.ended_pid = os.posix_spawnp(
                    program.command[0],
                    program.command,
                    {**environment, MARK: mark},
                    file_actions=files,
                    setsid=True,
                    setsigdef=IGNORED_BY_PYTHON,
                )
            except OSError as error:
                raise SandboxError("no-start", f"cannot start {program.label}: {error}") from error
            finally:
                os.fchdir(here)
                os.close(here)
        with contextlib.suppress(OSError):
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))

    def signal(self, number: int) -> None:
        """Send a signal to the bot's processes: at least to its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has exited
            os.killpg(self.pid, number)

    def end(self) -> tuple[int | None, int | None]:
        """Kill everything that still runs, wait for its end, and return exit code and signal of the first process. That
        is reaped last: until then no other process can have its number.
        """
        self.signal(signal.SIGKILL)
        killed: set[int] = set()
        for _ in range(MOST_ROUNDS):
            new = {pid for pid in _since(self.pid) if pid not in killed and self._kill(pid)}
            if not new:
                break
            killed |= new
        if not wait(self.pid, REAP_TIMEOUT_S):
            raise SandboxError("container-stuck", f"process {self.pid} cannot be killed")
        code = 0
        with contextlib.suppress(ChildProcessError):  # this process inherited an ignored SIGCHLD
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return (code, None) if code >= 0 else (None, -code)

    def _kill(self, pid: int) -> bool:
        """Kill a process if it belongs to the run; return whether it did."""
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            fd = os.pidfd_open(pid)
            try:
                state, _, _, session, *_ = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
                ours = int(session) == self.pid or self._mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if ours and state not in b"ZX":
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
                    return True
            finally:
                os.close(fd)
        return False


_numbers = itertools.count()
_watchers: list[int] = []  # our end of the watcher's pipe, once there is one


@cache
def _watched_prefix() -> str:
    """Return the prefix of all marks of this process. At the first call, start the watcher that knows it."""
    prefix = f"{os.getpid()}-{secrets.token_hex(8)}-"
    theirs, ours = os.pipe()
    try:
        subprocess.run(
            ["/bin/sh", "-c", _ORPHANS_END, "sh", f"{MARK}={prefix}"],
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of Ctrl-C and of signals to the whole group
            check=True,
        )
    finally:
        os.close(theirs)
    _watchers.append(ours)
    return prefix


def _forget_watcher() -> None:
    """Leave the parent's watcher to the parent after a fork."""
    _watched_prefix.cache_clear()
    while _watchers:
        os.close(_watchers.pop())


os.register_at_fork(after_in_child=_forget_watcher)

_away = threading.Lock()
"""Held while this process is in a program's directory, which posix_spawn inherits. No other thread of a process that
runs plain bots uses relative paths meanwhile."""


def keep_open_files() -> None:
    """Keep all programs from inheriting what this process was given by its parent. Python's own files never are."""
    for path in Path("/proc/self/fd").iterdir():
        if path.name not in ("0", "1", "2"):
            with contextlib.suppress(OSError):  # the list itself
                os.set_inheritable(int(path.name), False)


_keep_open_files_once = cache(keep_open_files)


def _since(first: int) -> Iterator[int]:
    """Yield the ids of processes that may have started after this one; the kernel assigns ids in increasing order."""
    fd = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)  # a third of a Path's cost
    try:
        last = int(os.read(fd, 100).split()[-1])
    finally:
        os.close(fd)
    if first <= last < first + MOST_NEW:
        yield from range(first + 1, last + 1)
    else:
        names = (path.name for path in Path("/proc").iterdir())
        yield from (int(name) for name in names if name.isdigit() and int(name) != first)


class ProcessMeter(Meter):
    """Counters of one plain process, without its children."""

    def __init__(self, pid: int, stderr: Stderr) -> None:
        self._leader = opened(f"/proc/{pid}/{TIMES}")
        self._pid = pid
        self.cpus = os.sched_getaffinity(0)
        self._stderr = stderr
        self._clock = (~pid << 3) | 2  # Linux's clock of another process's CPU time, see clock_getcpuclockid(3)
        self._looked: tuple[int, int | None] = (0, None)
        self._ran_after_ns = 0

    def cpu_ns(self) -> int | None:
        try:
            return clock_gettime_ns(self._clock)
        except OSError:  # it has exited and was reaped
            return None

    def counters(self, fresh: bool = True) -> Counters:
        self._stderr.cut()
        leader_cpu_ns, delay_ns = leader_times(read_now(self._leader, SHORT_BYTES))
        processors = len(self.cpus)
        return Counters(self.cpu_ns(), None, leader_cpu_ns, delay_ns, processors=processors)

    def waiting_ns(self) -> int:
        """A process that used CPU time since the last call began to wait after that call."""
        (looked_ns, used_ns), self._looked = self._looked, (time.monotonic_ns(), self.cpu_ns())
        now_ns, cpu_ns = self._looked
        if cpu_ns != used_ns:
            self._ran_after_ns = looked_ns
        try:
            ready = Path(f"/proc/{self._pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"R"
        except (OSError, IndexError):  # it has ended
            ready = False
        return now_ns - self._ran_after_ns if ready else 0

    def close(self) -> None:
        """Close the counters' file."""
        if self._leader != NONE:
            os.close(self._leader)
            self._leader = NONE


def wait(pid: int, seconds: float) -> bool:
    """Say whether the process ended within that time; it is not reaped."""
    fd = os.pidfd_open(pid)
    try:
        return readable(fd, seconds)
    finally:
        os.close(fd)
