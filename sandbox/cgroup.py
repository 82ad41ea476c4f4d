"""Counters of one container, read from its control groups: version 1, version 2, or both side by side.

Files are opened once and read with ``pread``: a few microseconds a reading, cheap enough for every prompt. A counter
that this host lacks, or that disappeared with its container, reads as None.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Collection
from dataclasses import replace
from os import pread
from pathlib import Path
from time import monotonic_ns

from deadheat.sandbox.attribution import Blame, Counters
from deadheat.sandbox.box import Exit

_READ_BYTES = 4096
_SHORT_BYTES = 400
"""Enough for what is read at every prompt. Python allocates up to this size without asking the system, which saves a
tenth of a read."""
_STAT_BYTES = 64 * 1024
"""Enough for the lines of many hundred CPUs, which come first in /proc/stat."""

_NONE = -1
"""Stands for a missing descriptor: reading it fails."""

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
SLACK_BYTES = 1024 * 1024
"""How near to its limit a container's peak counts as reaching it, because charges come in batches."""

FAVOURED, OTHER = {"cpu.shares": b"1024", "cpu.weight": b"500"}, {"cpu.shares": b"2", "cpu.weight": b"1"}
"""Weights of versions 1 and 2, against the least: 500 to 1, so a box runs almost as if alone."""

OWN_GROUPS = "deadheat"
"""The parent of the groups of `join_unified`, below the unified hierarchy's root."""

JOIN_TRIES = 5
"""How often `join_unified` makes its group, which another owner's `sweep_unified` removes if nobody is in it yet."""

KILL_ROUNDS = 20

SLOW_AGE_NS = 20_000_000
"""How old a slow reading may be when the beginning of a prompt is marked: short against every limit."""

_Texts = tuple[bytes, bytes, bytes, Counters]
"""An unparsed reading: CPU time, pressure and leader as in the files, and the slow counters."""


class Cgroup:
    """The counters of the container whose first process is `pid` on this host, pinned to `cpus` (empty: to none)."""

    def __init__(
        self, pid: int, cpus: Collection[int] = (), root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")
    ) -> None:
        self._fds: list[int] = []
        self.cpus = cpus
        self._processors = len(cpus) or os.cpu_count() or 1
        self._slow = Counters()
        self._slow_at_ns = 0
        self._mark: _Texts = (b"", b"", b"", self._slow)
        self._kills = self._limit_hits = 0
        self._begun_ns: int | None = None
        paths = _paths((proc / str(pid) / "cgroup").read_text(), root)
        self.pid = pid
        self._proc = proc
        self._leader = Leader(None)
        self._above = frozenset({pid})
        self._stat = self._open(proc, "stat")
        self._children = self._open(proc, f"{pid}/task/{pid}/children")
        unified = _own(paths.get(""), pid)
        self._pressure = self._open(unified, "cpu.pressure")
        self._frozen_time = self._open(unified, "cgroup.stat.local")
        self._freezer = self._open(paths.get("freezer"), "freezer.state")
        self._events = self._open(unified, "cgroup.events")
        self._throttled_v1 = self._open(paths.get("cpu"), "cpu.stat")
        self.weight = weight = paths["cpu"] / "cpu.shares" if "cpu" in paths else unified and unified / "cpu.weight"
        self._weights = (b"", b"") if weight is None else (OTHER[weight.name], FAVOURED[weight.name])
        self._weight = _NONE if weight is None else self._open(weight.parent, weight.name, os.O_WRONLY)
        self._throttled_v2 = self._open(unified, "cpu.stat") if self._throttled_v1 == _NONE else _NONE
        self._tasks = self._open(unified or paths.get("cpuacct"), "cgroup.procs")
        self._cpu = self._open(paths.get("cpuacct"), "cpuacct.usage")
        self._cpu_in_ns = self._cpu != _NONE  # version 2 counts microseconds, among other things
        if self._cpu == _NONE:
            self._cpu = self._open(unified, "cpu.stat")
        self._oom = self._open(paths.get("memory"), "memory.oom_control")
        if self._oom == _NONE:
            self._oom = self._open(unified, "memory.events")
        self._limit = self._open(paths.get("memory"), "memory.limit_in_bytes")
        self._peak = self._open(paths.get("memory"), "memory.max_usage_in_bytes")
        self._reset = str(paths["memory"] / "memory.max_usage_in_bytes") if "memory" in paths else ""
        if self._peak == _NONE:
            self._peak = self._open(unified, "memory.peak")

    def favour(self, yes: bool) -> None:
        """See `sandbox.box.Box`."""
        with contextlib.suppress(OSError):  # the container is gone, or has no weight
            os.pwrite(self._weight, self._weights[yes], 0)

    def can_favour(self) -> bool:
        """Say whether the container's weight follows `favour`. It is favoured afterwards."""
        seen = []
        for yes in (False, True):
            self.favour(yes)
            with contextlib.suppress(OSError, ValueError):
                seen.append(self.weight is not None and int(self.weight.read_text()) == int(self._weights[yes]))
        return seen == [True, True]

    def cpu_ns(self) -> int | None:
        """Return the CPU time used by everything in the container so far."""
        return self._cpu_ns(_read(self._cpu, _SHORT_BYTES))

    def _cpu_ns(self, text: bytes) -> int | None:
        if self._cpu_in_ns:
            return int(text) if text else None
        usage_us = _value(text, b"usage_usec")
        return None if usage_us is None else usage_us * 1000

    def begin_run(self) -> None:
        """Begin a new run: earlier CPU time, memory use and killed processes no longer count."""
        with contextlib.suppress(OSError):  # this kernel cannot, or we may not
            fd = os.open(self._reset, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            try:
                os.write(fd, b"0")
            finally:
                os.close(fd)
        self._kills, self._limit_hits = self._memory_events()
        self._begun_ns = self.cpu_ns()

    def measured(self, end: Exit) -> Exit:
        """Return the end of this run with all measurements of a whole run."""
        now_ns = self.cpu_ns()
        used_ns = None if now_ns is None or self._begun_ns is None else now_ns - self._begun_ns
        return replace(end, cpu_ns=used_ns, peak_memory_bytes=self.peak_memory_bytes())

    def killed_for_memory(self) -> Blame | None:
        """Return whose lack of memory killed a process of this run: the bot's (at its own limit) or the host's."""
        kills, hits = self._memory_events()
        if kills <= self._kills:
            return None
        return Blame.BOT if hits > self._limit_hits or self._peaked() else Blame.HOST

    def _memory_events(self) -> tuple[int, int]:
        """Return how many processes were killed for lack of memory, and how often the container's own limit was hit."""
        return _field(self._oom, b"oom_kill") or 0, _field(self._oom, b"oom") or 0

    def _peaked(self) -> bool:
        """Say whether the container's peak is at its limit. Version 1 counts no reliable hits (its failcnt stays 0 on
        some kernels). A run's peak may begin there: an earlier one's page tables are given back late.
        """
        limit_bytes, peak_bytes = _integer(self._limit), self.peak_memory_bytes()
        return limit_bytes is not None and peak_bytes is not None and peak_bytes >= limit_bytes - SLACK_BYTES

    def peak_memory_bytes(self) -> int | None:
        """Return the peak memory use: of this run if the kernel allows a reset (version 1), else of all runs."""
        return _integer(self._peak)

    def counters(self, fresh: bool = True) -> Counters:
        """See `sandbox.box.Meter`."""
        return self._counters(self._texts(fresh))

    def mark(self) -> None:
        """See `sandbox.box.Meter`. The files' content is kept unparsed: few deadlines are missed, and parsing costs as
        much again as reading.
        """
        if monotonic_ns() - self._slow_at_ns > SLOW_AGE_NS:
            self._slow_counters(fresh=True)
        try:  # `_texts`, without a call for each file
            cpu, pressure = pread(self._cpu, _SHORT_BYTES, 0), pread(self._pressure, _SHORT_BYTES, 0)
            leader = pread(self._leader.fd, _SHORT_BYTES, 0)
            self._mark = cpu, pressure, leader, self._slow
        except OSError:  # some are missing
            self._mark = self._texts(fresh=False)

    def marked(self) -> Counters:
        """See `sandbox.box.Meter`."""
        return self._counters(self._mark)

    def waiting_ns(self) -> int:
        """See `sandbox.box.Meter`. The pressure counts unfinished waits; without it, none is known before its end."""
        return 0

    def spent_ns(self) -> int | None:
        """See `sandbox.box.Meter`."""
        before_ns, now_ns = self._cpu_ns(self._mark[0]), self._cpu_ns(_read(self._cpu, _SHORT_BYTES))
        return None if before_ns is None or now_ns is None else now_ns - before_ns

    def _texts(self, fresh: bool) -> _Texts:
        """Read the counters. If not `fresh`, the slow and rarely changing ones (throttling, freezing, steal) may be up
        to SLOW_AGE_NS old, which makes a reading cost 5 instead of 40 microseconds.
        """
        slow = self._slow_counters(fresh)
        return (_read(self._cpu, _SHORT_BYTES), _read(self._pressure, _SHORT_BYTES), self._leader.text(), slow)

    def _counters(self, texts: _Texts) -> Counters:
        cpu, pressure, leader, slow = texts
        leader_cpu_ns, delay_ns = leader_times(leader)
        return slow._replace(
            cpu_ns=self._cpu_ns(cpu),
            full_ns=_pressure_full_ns(pressure),
            leader_cpu_ns=leader_cpu_ns,
            delay_ns=delay_ns,
            processors=self._processors,
        )

    def follow_leader(self, generation: int = 1) -> int | None:
        """Find the bot's first process, this many generations below the container's own first. Return its process id on
        this host, or None if it has already ended.
        """
        self._leader.close()
        leader: int | None = self.pid
        above = []
        for _ in range(generation):
            if leader is not None:
                above.append(leader)
                leader = self._first_child(leader)
        self._above = frozenset(above)
        self._leader = Leader(leader, self._proc)
        return leader

    def kill(self) -> None:
        """Kill everything in the container but the processes above the bot's first one."""
        for _ in range(KILL_ROUNDS):  # one of them may just have started another
            for pid in set(self._pids()) - self._above:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _first_child(self, pid: int) -> int | None:
        """Return the first child in the kernel's list, which is the oldest. Without CONFIG_PROC_CHILDREN, return the
        oldest process that started after this one.
        """
        if self._children == _NONE:
            return min((other for other in self._pids() if other > pid), default=None)
        fd = self._children if pid == self.pid else _opened(f"{self._proc}/{pid}/task/{pid}/children")
        found = _read(fd).split(None, 1)
        if fd not in (self._children, _NONE):
            os.close(fd)
        return int(found[0]) if found else None

    def _slow_counters(self, fresh: bool) -> Counters:
        now_ns = monotonic_ns()
        if fresh or now_ns - self._slow_at_ns > SLOW_AGE_NS:
            self._slow_at_ns = now_ns
            self._slow = Counters(
                throttled_ns=self._throttled_ns(),
                steal_ns=steal_ns(pread(self._stat, _STAT_BYTES, 0), self.cpus),
                frozen_ns=(_field(self._frozen_time, b"frozen_usec") or 0) * 1000,
                frozen=self._frozen(),
            )
        return self._slow

    def _frozen(self) -> bool:
        by_v1 = _read(self._freezer).strip() not in (b"THAWED", b"")
        return by_v1 or _field(self._events, b"frozen") == 1

    def _throttled_ns(self) -> int:
        if self._throttled_v1 != _NONE:
            return _field(self._throttled_v1, b"throttled_time") or 0
        return (_field(self._throttled_v2, b"throttled_usec") or 0) * 1000

    def _pids(self) -> list[int]:
        return [int(pid) for pid in _read(self._tasks).split()]

    def close(self) -> None:
        """Close the files; idempotent."""
        self._leader.close()
        while self._fds:
            os.close(self._fds.pop())

    def _open(self, directory: Path | None, name: str, how: int = os.O_RDONLY) -> int:
        fd = _NONE if directory is None else _opened(f"{directory}/{name}", how)
        if fd != _NONE:
            self._fds.append(fd)
        return fd


def _paths(table: str, root: Path) -> dict[str, Path]:
    """Return directories by controller from the lines of /proc/PID/cgroup; the unified hierarchy's key is ''."""
    found: dict[str, Path] = {}
    for line in table.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if not controller:
                if path == "/":  # the root group: the runtime made no group for the container
                    continue
                unified = root / "unified"
                base = unified if unified.is_dir() else root
            else:
                base = root / controllers if (root / controllers).is_dir() else root / controller
            found[controller.removeprefix("name=")] = base / path.lstrip("/")
    return found


def join_unified(pid: int, name: str, root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> Path | None:
    """Make a unified group for the container of `pid` if its runtime made groups of version 1 only: the kernel measures
    pressure by unified groups, whichever version sets the limits.

    Return its directory, to be removed when the container is gone, or None if one exists already or none can exist.
    """
    paths = _paths((proc / str(pid) / "cgroup").read_text(), root)
    members, group = paths.get("cpuacct"), root / "unified" / OWN_GROUPS / name
    if "" in paths or members is None or not (root / "unified").is_dir():
        return None
    for _ in range(JOIN_TRIES):
        with contextlib.suppress(OSError):  # not permitted: the container's meter will report no pressure
            _move_all(members, group)
            break
    return group


def _move_all(members: Path, group: Path) -> None:
    moved: set[str] = set()
    group.mkdir(parents=True, exist_ok=True)
    while fresh := set((members / "cgroup.procs").read_text().split()) - moved:
        for process in fresh:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                (group / "cgroup.procs").write_text(process)
        moved |= fresh


def sweep_unified(kept: Path, root: Path = Path("/sys/fs/cgroup")) -> None:
    """Remove the groups of `join_unified` left by a killed owner: those whose name is not in `kept`."""
    for group in (root / "unified" / OWN_GROUPS).glob("*/"):
        if not (kept / group.name).exists():
            with contextlib.suppress(OSError):  # it belongs to another owner and is in use
                group.rmdir()


def _own(directory: Path | None, pid: int) -> Path | None:
    """Return the unified group, if the container is really in it."""
    if directory is None:
        return None
    try:
        members = (directory / "cgroup.procs").read_text().split()
    except OSError:
        return None
    return directory if str(pid) in members else None


def _opened(path: str, how: int = os.O_RDONLY) -> int:
    """Open a file; `_NONE` if it does not exist, because its process has ended or this kernel does not count it."""
    try:
        return os.open(path, how | os.O_CLOEXEC)
    except OSError:
        return _NONE


def _read(fd: int, size_bytes: int = _READ_BYTES) -> bytes:
    if fd == _NONE:
        return b""
    try:
        return pread(fd, size_bytes, 0)
    except OSError:  # ENODEV: the container is gone, and its control groups with it
        return b""


def _integer(fd: int) -> int | None:
    text = _read(fd)
    return int(text) if text else None


def _pressure_full_ns(text: bytes) -> int | None:
    """Return the total of the last line, "full", which the file gives in microseconds."""
    at = text.rfind(b"full ")
    return None if at < 0 else int(text[text.rindex(b"=") + 1 :]) * 1000


def steal_ns(stat: bytes, cpus: Collection[int]) -> int:
    """Return the time that the hypervisor took from the most affected of these CPUs, by /proc/stat, which counts in
    ticks of 10 ms. Return 0 without CPUs, because a whole host's steal cannot be attributed.
    """
    ticks = 0
    for cpu in cpus:
        *_, line = stat.partition(b"\ncpu%d " % cpu)
        if line:
            ticks = max(ticks, int(line.split(None, 8)[7]))
    return ticks * TICK_NS


class Leader:
    """Reads a process's first thread: its CPU time, and how long it waited for a CPU; None if it has already ended."""

    def __init__(self, pid: int | None, proc: Path = Path("/proc")) -> None:
        self.fd = _NONE if pid is None else _opened(f"{proc}/{pid}/schedstat")

    def text(self) -> bytes:
        """Return the kernel's text, which `leader_times` parses."""
        try:
            return pread(self.fd, _SHORT_BYTES, 0)
        except OSError:
            return b""

    def close(self) -> None:
        """Close the files; may be called repeatedly."""
        if self.fd != _NONE:
            os.close(self.fd)
            self.fd = _NONE


_this_thread = threading.local()


def own_times() -> bytes:
    """Return the kernel's text about the calling thread, for `delay_between`; parsing it costs more than reading it."""
    try:
        text: bytes = _this_thread.times.text()
    except AttributeError:  # the first call, also after a fork
        _this_thread.times = Leader(threading.get_native_id())
        text = _this_thread.times.text()
    return text


def _forget() -> None:
    """Leave the parent's file to the parent after a fork."""
    _this_thread.__dict__.clear()


os.register_at_fork(after_in_child=_forget)


def delay_between(before: bytes, after: bytes) -> int:
    """Return how long a thread was ready but did not run between two readings; 0 if the kernel does not count it."""
    return (leader_times(after)[1] or 0) - (leader_times(before)[1] or 0)


def leader_times(text: bytes) -> tuple[int | None, int | None]:
    """Return CPU time and run-queue delay in nanoseconds; a wait counts when it is over."""
    words = text.split()
    if len(words) != 3 or words[0] == b"0":  # a kernel that does not count reports 0; a running thread has used some
        return (None, None)
    return (int(words[0]), int(words[1]))


def _field(fd: int, name: bytes) -> int | None:
    return _value(_read(fd), name)


def _value(text: bytes, name: bytes) -> int | None:
    for line in text.splitlines():
        key, _, value = line.partition(b" ")
        if key == name:
            return int(value)
    return None
