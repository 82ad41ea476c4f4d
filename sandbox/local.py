"""Boxes without isolation: plain subprocesses, for development and for the local kit.

NOT A SANDBOX. A bot runs as the current user, with that user's files, network and memory; only the clock and the
protocol are the judge's. Nothing uses this backend unless it is requested by name.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import time
from time import clock_gettime_ns

from deadheat.engine.core import NS_PER_S, STDERR_KEPT_BYTES
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import Box, Channel, Exit, Limits, NoMeter, Program, SandboxError
from deadheat.sandbox.cgroup import Leader, leader_times

MAX_STDERR_BYTES = 64 * 1024 * 1024
REAP_TIMEOUT_S = 10


class LocalSandbox:
    """See `sandbox.box.Sandbox`; it enforces no limits. Bots run on the processors of the process that opens them."""

    def open(self, program: Program, limits: Limits) -> Box:
        """Open a box that starts `program` as a plain subprocess."""
        return LocalBox(program)


class LocalBox:
    """A program as a subprocess per run, in its own process group. See `sandbox.box.Box`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._fds: list[int] = []
        """Of the run: our ends of its pipes, and its stderr, last."""
        self._meter: ProcessMeter | None = None
        self._grace_ends = 0.0

    def start(self) -> Channel:
        """See `sandbox.box.Box`."""
        assert self._process is None
        stdin, to_bot = os.pipe()
        from_bot, stdout = os.pipe()
        stderr = os.memfd_create("stderr")  # a third of what a file in /tmp costs, and nothing to clean up
        self._fds = [to_bot, from_bot, stderr]
        try:
            process = subprocess.Popen(
                self._program.command,
                cwd=self._program.directory,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            self._close_files()
            raise SandboxError("no-start", f"cannot start {self._program.label}: {error}") from error
        finally:
            os.close(stdin)
            os.close(stdout)
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MAX_STDERR_BYTES, MAX_STDERR_BYTES))
        os.set_blocking(to_bot, False)
        os.set_blocking(from_bot, False)
        self._process = process
        self._meter = ProcessMeter(process.pid)
        return Channel(to_bot, from_bot, meter=self._meter)

    def _close_files(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def favour(self, yes: bool) -> None:
        """See `sandbox.box.Box`; here no box has a processor of its own to share."""

    def rest(self, yes: bool) -> None:
        """See `sandbox.box.Box`."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has exited
                os.killpg(self._process.pid, signal.SIGSTOP if yes else signal.SIGCONT)

    def stderr_so_far(self) -> bytes:
        """See `sandbox.box.Box`."""
        return _tail(self._fds[-1])

    def ask_stop(self, grace_ns: int) -> None:
        """See `sandbox.box.Box`."""
        self._grace_ends = time.monotonic() + grace_ns / NS_PER_S

    def stopped(self) -> Exit:
        """See `sandbox.box.Box`."""
        process = self._process
        assert process is not None
        lingered = not _wait(process.pid, self._grace_ends - time.monotonic())
        _kill_group(process)
        if lingered:
            _wait(process.pid, REAP_TIMEOUT_S)
        code = process.wait(REAP_TIMEOUT_S)
        if self._meter is not None:
            self._meter.close()
            self._meter = None
        kept = _tail(self._fds[-1])
        self._close_files()
        self._process = None
        if lingered:
            return Exit(None, None, True, kept)
        return Exit(code if code >= 0 else None, -code if code < 0 else None, False, kept)

    def close(self) -> None:
        """See `sandbox.box.Box`."""
        if self._process is not None:
            self.ask_stop(0)
            self.stopped()


class ProcessMeter(NoMeter):
    """Counters of one plain process, without its children. See `sandbox.box.Meter`."""

    def __init__(self, pid: int) -> None:
        self._leader = Leader(pid)
        self._clock = (~pid << 3) | 2  # Linux's clock of another process's CPU time, see clock_getcpuclockid(3)
        self._mark: tuple[bytes, int | None] = (b"", None)

    def cpu_ns(self) -> int | None:
        """Return the CPU time used so far."""
        try:
            return clock_gettime_ns(self._clock)
        except OSError:  # it has exited and was reaped
            return None

    def counters(self, fresh: bool = True) -> Counters:
        """See `sandbox.box.Meter`."""
        return _counters(self._leader.text(), self.cpu_ns())

    def mark(self) -> None:
        """See `sandbox.box.Meter`. The text is kept unparsed: few marks are ever looked at."""
        self._mark = self._leader.text(), self.cpu_ns()

    def marked(self) -> Counters:
        """See `sandbox.box.Meter`."""
        return _counters(*self._mark)

    def spent_ns(self) -> int | None:
        """See `sandbox.box.Meter`."""
        before_ns, now_ns = self._mark[1], self.cpu_ns()
        return None if before_ns is None or now_ns is None else now_ns - before_ns

    def close(self) -> None:
        """Close the counters' files."""
        self._leader.close()


def _counters(leader: bytes, cpu_ns: int | None) -> Counters:
    leader_cpu_ns, delay_ns = leader_times(leader)
    return Counters(cpu_ns=cpu_ns, leader_cpu_ns=leader_cpu_ns, delay_ns=delay_ns)


def _wait(pid: int, seconds: float) -> bool:
    """Say whether the process ended within that time; it is not reaped."""
    fd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(max(0.0, seconds) * 1000))
    finally:
        os.close(fd)


def _tail(stderr: int) -> bytes:
    """Return the file's end without moving its offset, which the program shares."""
    size = os.fstat(stderr).st_size
    return os.pread(stderr, STDERR_KEPT_BYTES, max(0, size - STDERR_KEPT_BYTES)) if size else b""


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
