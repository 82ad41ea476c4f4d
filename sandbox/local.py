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
import tempfile
import time
from collections.abc import Sequence
from typing import IO

from deadheat.engine.core import NS_PER_S, STDERR_KEPT_BYTES
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import Box, Channel, Exit, Limits, NoMeter, Program, SandboxError
from deadheat.sandbox.cgroup import Leader, leader_times

MAX_STDERR_BYTES = 64 * 1024 * 1024
REAP_TIMEOUT_S = 10


class LocalSandbox:
    """See `sandbox.box.Sandbox`; of the limits it enforces only the processors, as long as the bot leaves them."""

    def open(self, program: Program, limits: Limits) -> Box:
        """Open a box that starts `program` as a plain subprocess."""
        return LocalBox(program, limits.cpu_numbers)


class LocalBox:
    """A program as a subprocess per run, in its own process group. See `sandbox.box.Box`."""

    def __init__(self, program: Program, cpus: Sequence[int] = ()) -> None:
        self._program = program
        self._cpus = cpus
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self._meter: ProcessMeter | None = None
        self._grace_ends = 0.0

    def start(self) -> Channel:
        """See `sandbox.box.Box`."""
        assert self._process is None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed by stopped()
        try:
            process = subprocess.Popen(
                self._program.command,
                cwd=self._program.directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise SandboxError("no-start", f"cannot start {self._program.label}: {error}") from error
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MAX_STDERR_BYTES, MAX_STDERR_BYTES))
            if self._cpus:
                os.sched_setaffinity(process.pid, self._cpus)
        assert process.stdin is not None and process.stdout is not None
        for pipe in (process.stdin, process.stdout):
            os.set_blocking(pipe.fileno(), False)
        self._process = process
        self._meter = ProcessMeter(process.pid)
        return Channel(process.stdin.fileno(), process.stdout.fileno(), meter=self._meter)

    def favour(self, yes: bool) -> None:
        """See `sandbox.box.Box`; here no box has a processor of its own to share."""

    def rest(self, yes: bool) -> None:
        """See `sandbox.box.Box`."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has exited
                os.killpg(self._process.pid, signal.SIGSTOP if yes else signal.SIGCONT)

    def stderr_so_far(self) -> bytes:
        """See `sandbox.box.Box`."""
        assert self._stderr is not None
        return _tail(self._stderr)

    def ask_stop(self, grace_ns: int) -> None:
        """See `sandbox.box.Box`."""
        self._grace_ends = time.monotonic() + grace_ns / NS_PER_S

    def stopped(self) -> Exit:
        """See `sandbox.box.Box`."""
        process, stderr = self._process, self._stderr
        assert process is not None and stderr is not None
        lingered = not _wait(process.pid, self._grace_ends - time.monotonic())
        _kill_group(process)
        code = process.wait(REAP_TIMEOUT_S)
        if self._meter is not None:
            self._meter.close()
            self._meter = None
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        kept = _tail(stderr)
        stderr.close()
        self._process = self._stderr = None
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

    def cpu_ns(self) -> int | None:
        """Return the CPU time used so far."""
        try:
            return time.clock_gettime_ns(self._clock)
        except OSError:  # it has exited and was reaped
            return None

    def counters(self, fresh: bool = True) -> Counters:
        """See `sandbox.box.Meter`."""
        leader_cpu_ns, delay_ns = leader_times(self._leader.text())
        return Counters(cpu_ns=self.cpu_ns(), leader_cpu_ns=leader_cpu_ns, delay_ns=delay_ns)

    def close(self) -> None:
        """Close the counters' files."""
        self._leader.close()


def _wait(pid: int, seconds: float) -> bool:
    """Say whether the process ended within that time; it is not reaped."""
    fd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(max(0.0, seconds) * 1000))
    finally:
        os.close(fd)


def _tail(stderr: IO[bytes]) -> bytes:
    """Return the file's end without moving its offset, which the program shares."""
    size = os.fstat(stderr.fileno()).st_size
    return os.pread(stderr.fileno(), STDERR_KEPT_BYTES, max(0, size - STDERR_KEPT_BYTES))


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
