"""The control groups of boxes: the counters of each, and the weight of all. Version 1, version 2, or both side by side.

Files are opened once and read with ``pread``: a few microseconds a reading, cheap enough for every prompt. A counter
that this host lacks, or that disappeared with its container, reads as None.

*Weight.* By default an engine keeps all its containers in one control group, which weighs as much as one process: seven
busy processes left all boxes of a machine an eighth of it. So boxes get parents of their own, one for those that play
and one for builds. The engine creates a parent with the first box in it; whoever opens a box sets its weight, which
systemd may reset when it reads its units again. It is divided among the processors on which the group is busy, so it is
counted by processor: 1 is as much as one ordinary process on each while matches are played on all. Builds weigh 1
everywhere, because no clock runs while they wait, and a compiler may start 128 processes.

Own time gives back what bots wait for, but not what waiting costs, their caches. Beside four busy processes a
processor, victims that walk through 768 KiB and use 60 % of their limit were late in 11 of 11 matches with weight 0.5,
and in none of 11 with 4 and with 16.
"""

import contextlib
import glob
import os
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

from deadheat.sandbox.attribution import Blame, Counters
from deadheat.sandbox.box import Exit, Meter, SandboxError

_READ_BYTES = 4096
SHORT_BYTES = 400
"""Enough for what is read at every prompt. Python allocates this without asking the system: a tenth of a read."""
_STAT_BYTES = 64 * 1024
"""Enough for the lines of many hundred CPUs, which come first in /proc/stat."""

NONE = -1  # a missing descriptor: reading it fails

TIMES = "schedstat"
"""The file with the CPU time of a process's first thread, and how long it waited for a CPU (see `leader_times`)."""

TICK_NS = 1_000_000_000 // (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100)
SLACK_BYTES = 1024 * 1024
"""How near to its limit a container's peak counts as reaching it, because charges come in batches."""

FAVOURED, OTHER = {"cpu.shares": b"1024", "cpu.weight": b"500"}, {"cpu.shares": b"2", "cpu.weight": b"1"}
"""Weights of boxes against each other, of versions 1 and 2: 500 to 1, so a box runs almost as if alone."""

PLAY, BUILD = "deadheat_play", "deadheat_build"
"""The boxes' parents, groups below the root or, with systemd's driver, slices. A dash would nest a slice."""

SHARED = 4.0
"""The weight beside an API, which gets a fifth of every processor: bots seldom lose their caches."""

ALONE = 16.0
"""The weight on a machine that only plays: against seven busy processes a processor, boxes keep 70 % of it. The engine,
the keeper and the kernel's helpers need the rest."""

ORDINARY = {"cpu.shares": 1024, "cpu.weight": 100}
"""The weight of one ordinary process, by the file of version 1 or 2."""

MOST = {"cpu.shares": 262_144, "cpu.weight": 10_000}
"""The most that the kernel accepts: `ALONE` for 16 processors with version 1, and for 6 with version 2."""

OWN_GROUPS = "deadheat"
"""The parent of the groups of `join_unified`, below the unified hierarchy's root."""

JOIN_TRIES = 5
"""How often `join_unified` makes its group, which another owner's `sweep_unified` removes if nobody is in it yet."""

SLOW_AGE_NS = 20_000_000
"""How old a slow reading may be when the beginning of a prompt is marked: short against every limit."""

_Texts = tuple[bytes, bytes, bytes, Counters]
"""An unparsed reading: CPU time, pressure and leader as in the files, and the slow counters."""


class Cgroup(Meter):
    """The counters of one run, which begins now, in `groups` (see `groups_of`), pinned to `cpus` (empty: to none).
    `leader` is the process id of the bot's first process on this host, if it is known.
    """

    def __init__(
        self,
        groups: Mapping[str, Path],
        cpus: Collection[int] = (),
        leader: int | None = None,
        proc: Path = Path("/proc"),
    ) -> None:
        self._fds: list[int] = []
        self.cpus = cpus
        self._processors = len(cpus) or os.cpu_count() or 1
        self._slow = Counters()
        self._slow_at_ns = 0
        self._mark: _Texts = (b"", b"", b"", self._slow)
        self._leader = self._open((None if leader is None else proc / str(leader), TIMES))
        unified, memory = groups.get(""), groups.get("memory")
        self._stat = self._open((proc, "stat"))
        self._pressure = self._open((unified, "cpu.pressure"))
        self._frozen_time = self._open((unified, "cgroup.stat.local"))
        self._freezer = self._open((groups.get("freezer"), "freezer.state"), how=os.O_RDWR)
        self._freeze = self._open((unified, "cgroup.freeze"), how=os.O_WRONLY) if self._freezer == NONE else NONE
        self._events = self._open((unified, "cgroup.events"))
        self._throttled = self._open((groups.get("cpu"), "cpu.stat"), (unified, "cpu.stat"))
        self.weight = weight = weight_file(groups)
        self._weights = (b"", b"") if weight is None else (OTHER[weight.name], FAVOURED[weight.name])
        self._weight = NONE if weight is None else self._open((weight.parent, weight.name), how=os.O_WRONLY)
        self._cpu = self._open((groups.get("cpuacct"), "cpuacct.usage"))
        self._cpu_in_ns = self._cpu != NONE  # version 2 counts microseconds, among other things
        if self._cpu == NONE:
            self._cpu = self._open((unified, "cpu.stat"))
        self._oom = self._open((memory, "memory.oom_control"), (unified, "memory.events"))
        self._limit = self._open((memory, "memory.limit_in_bytes"))
        self._peak = self._open((memory, "memory.max_usage_in_bytes"), (unified, "memory.peak"))
        now_ns, leader_ns = self.cpu_ns(), leader_times(read_now(self._leader, SHORT_BYTES))[0] or 0
        self._begun_ns = None if now_ns is None else now_ns - leader_ns  # without what it took to set the run up

    def favour(self, yes: bool) -> None:
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
        return self._cpu_ns(read_now(self._cpu, SHORT_BYTES))

    def _cpu_ns(self, text: bytes) -> int | None:
        if self._cpu_in_ns:
            return int(text) if text else None
        usage_us = _value(text, b"usage_usec")
        return None if usage_us is None else usage_us * 1000

    def freeze(self, yes: bool) -> None:
        """Pause everything here, or resume it. If this kernel cannot, nothing happens."""
        file, texts = (self._freezer, (b"THAWED", b"FROZEN")) if self._freeze == NONE else (self._freeze, (b"0", b"1"))
        with contextlib.suppress(OSError):  # the box is gone, or its processes cannot be frozen
            os.pwrite(file, texts[yes], 0)

    def measured(self, end: Exit) -> Exit:
        """Return the end of this run with all measurements of a whole run."""
        now_ns = self.cpu_ns()
        used_ns = None if now_ns is None or self._begun_ns is None else now_ns - self._begun_ns
        return replace(end, cpu_ns=used_ns, peak_memory_bytes=_integer(self._peak))

    def killed_for_memory(self) -> Blame | None:
        """Return whose lack of memory killed a process of this run: the bot's (at its own limit) or the host's."""
        if not _value(read_now(self._oom), b"oom_kill"):
            return None
        # Version 1 does not count hits of the limit on every kernel, so there the peak tells.
        limit_bytes, peak_bytes = _integer(self._limit), _integer(self._peak) or 0
        peaked = limit_bytes is not None and peak_bytes >= limit_bytes - SLACK_BYTES
        return Blame.BOT if _value(read_now(self._oom), b"oom") or peaked else Blame.HOST

    def counters(self, fresh: bool = True) -> Counters:
        return self._counters(self._texts(fresh))

    def mark(self) -> None:
        """The content stays unparsed: few deadlines are missed, and parsing costs as much again as reading."""
        self._mark = self._texts(fresh=False)

    def marked(self) -> Counters:
        return self._counters(self._mark)

    def spent_ns(self) -> int | None:
        before_ns, now_ns = self._cpu_ns(self._mark[0]), self._cpu_ns(read_now(self._cpu, SHORT_BYTES))
        return None if before_ns is None or now_ns is None else now_ns - before_ns

    def _texts(self, fresh: bool) -> _Texts:
        """Read the counters: 40 microseconds if `fresh`, else 5, because the slow ones may be SLOW_AGE_NS old."""
        now_ns = monotonic_ns()
        if fresh or now_ns - self._slow_at_ns > SLOW_AGE_NS:
            self._slow_at_ns = now_ns
            throttled = read_now(self._throttled)
            frozen_by_v1 = read_now(self._freezer).strip() not in (b"THAWED", b"")
            self._slow = Counters(
                throttled_ns=_value(throttled, b"throttled_time") or 1000 * (_value(throttled, b"throttled_usec") or 0),
                steal_ns=steal_ns(os.pread(self._stat, _STAT_BYTES, 0), self.cpus),
                frozen_ns=1000 * (_value(read_now(self._frozen_time), b"frozen_usec") or 0),
                frozen=frozen_by_v1 or _value(read_now(self._events), b"frozen") == 1,
            )
        try:
            cpu, pressure = os.pread(self._cpu, SHORT_BYTES, 0), os.pread(self._pressure, SHORT_BYTES, 0)
            return (cpu, pressure, os.pread(self._leader, SHORT_BYTES, 0), self._slow)
        except OSError:  # some are missing
            cpu, pressure, leader = (read_now(fd, SHORT_BYTES) for fd in (self._cpu, self._pressure, self._leader))
            return (cpu, pressure, leader, self._slow)

    def _counters(self, texts: _Texts) -> Counters:
        cpu, pressure, leader, slow = texts
        leader_cpu_ns, delay_ns = leader_times(leader)
        _, _, full = pressure.partition(b"full ")  # this line is the last, and ends with the total in microseconds
        return slow._replace(
            cpu_ns=self._cpu_ns(cpu),
            full_ns=int(full[full.rindex(b"=") + 1 :]) * 1000 if full else None,
            leader_cpu_ns=leader_cpu_ns,
            delay_ns=delay_ns,
            processors=self._processors,
        )

    def close(self) -> None:
        """Close the files; idempotent."""
        while self._fds:
            os.close(self._fds.pop())

    def _open(self, *places: tuple[Path | None, str], how: int = os.O_RDONLY) -> int:
        """Open the first of these files that exists."""
        for directory, name in places:
            if directory is not None and (fd := opened(f"{directory}/{name}", how)) != NONE:
                self._fds.append(fd)
                return fd
        return NONE


def groups_of(pid: int, root: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> dict[str, Path]:
    """Return the control groups that a runtime made for its container, by controller, '' for the unified hierarchy."""
    groups: dict[str, Path] = {}
    unified = root / "unified" if (root / "unified").is_dir() else root
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if path != "/" else ():
            base = root / controllers if (root / controllers).is_dir() else root / controller
            groups[controller.removeprefix("name=")] = (base if controller else unified) / path.lstrip("/")
    if "pids" in groups and "" in groups and groups[""].name != groups["pids"].name:
        del groups[""]  # an old runtime left the container in its service's
    return groups


def weight_file(groups: Mapping[str, Path]) -> Path | None:
    """Return the file with the weight of these groups against others on their processors."""
    if "cpu" in groups:
        return groups["cpu"] / "cpu.shares"
    return groups[""] / "cpu.weight" if "" in groups else None


def parent(building: bool, systemd: bool) -> str:
    """Return the engine's setting for the parent of a box."""
    name = BUILD if building else PLAY
    return f"{name}.slice" if systemd else f"/{name}"


def wanted_weight(building: bool, only_plays: bool) -> float:
    """Return the weight that a parent should have, by processor."""
    return 1.0 if building else ALONE if only_plays else SHARED


class Parent:
    """The parent group of a box whose own weight is in the file `weight` (see `weight_file`)."""

    def __init__(self, weight: Path | None, processors: int | None = None) -> None:
        self._file = None
        if weight is not None and weight.parent.parent.name.removesuffix(".slice") in (PLAY, BUILD):
            self._file = weight.parent.parent / weight.name
        name = "cpu.weight" if weight is None else weight.name
        self._ordinary = ORDINARY[name] * (processors or os.cpu_count() or 1)
        self.greatest = MOST[name] / self._ordinary
        """The greatest weight that the kernel accepts here, by processor."""

    def weigh(self, weight: float) -> bool:
        """Set the weight, by processor, as nearly as the kernel accepts. Return False if that is not possible here."""
        value = round(min(weight, self.greatest) * self._ordinary)
        with contextlib.suppress(OSError):  # not permitted, or not mounted for writing
            if self._file is not None and int(self._file.read_text()) != value:
                self._file.write_text(f"{value}\n")
            return self._file is not None
        return False

    @property
    def weight(self) -> float | None:
        """Return the present weight, by processor; None without a group that can be read."""
        with contextlib.suppress(OSError):
            return None if self._file is None else int(self._file.read_text()) / self._ordinary
        return None


def join_unified(groups: dict[str, Path], pid: int, name: str, root: Path = Path("/sys/fs/cgroup")) -> dict[str, Path]:
    """Make a unified group for a container whose runtime made `groups` of version 1 only, and move its processes there:
    the kernel measures pressure by unified groups, whichever version sets the limits. Return `groups` with that group,
    or unchanged if there is one already or none can exist. Raises SandboxError: there are too many groups.
    """
    group = root / "unified" / OWN_GROUPS / name
    if "" in groups or "cpuacct" not in groups or not (root / "unified").is_dir():
        return groups
    for _ in range(JOIN_TRIES):
        try:
            group.mkdir(parents=True, exist_ok=True)
            moved: set[str] = set()
            while fresh := {str(pid), *(groups["cpuacct"] / "cgroup.procs").read_text().split()} - moved:
                for process in fresh:
                    with contextlib.suppress(ProcessLookupError):  # it has ended
                        (group / "cgroup.procs").write_text(process)
                moved |= fresh
            return {**groups, "": group}
        except BlockingIOError as error:  # a limit (EAGAIN): without pressure, waits of this box's children would count
            raise SandboxError("engine", f"the kernel makes no more control groups: {error}") from error
        except OSError:  # not permitted: the meter will report no pressure
            continue
    return groups


def sweep_unified(kept: Path, root: Path = Path("/sys/fs/cgroup")) -> None:
    """Remove the groups of `join_unified` left by a killed owner: those whose name is not in `kept`."""
    for group in (root / "unified" / OWN_GROUPS).glob("*/"):
        with contextlib.suppress(OSError):  # it has just been removed
            if "populated 1" in (group / "cgroup.events").read_text():
                continue  # its owner, who has another folder, may be making a room
        if not (kept / group.name).exists():
            remove_group(group)


def remove_group(group: Path) -> None:
    """Remove a control group and those below it, except where somebody is still in them."""
    try:
        group.rmdir()  # most have none below, and looking for them costs more
    except OSError:  # it is in use, already gone, or has some
        for below in group.glob("*/"):
            remove_group(below)
        with contextlib.suppress(OSError):
            group.rmdir()


def opened(path: str, how: int = os.O_RDONLY) -> int:
    """Open a file; `NONE` if it does not exist, because its process has ended or this kernel does not count it."""
    try:
        return os.open(path, how | os.O_CLOEXEC)
    except OSError:
        return NONE


def read_now(fd: int, size_bytes: int = _READ_BYTES) -> bytes:
    """Read a file from its beginning; nothing if it is missing."""
    try:
        return os.pread(fd, size_bytes, 0)
    except OSError:  # it is missing, or ENODEV: the container is gone, and its control groups with it
        return b""


def _integer(fd: int) -> int | None:
    text = read_now(fd)
    return int(text) if text else None


def steal_ns(stat: bytes, cpus: Collection[int]) -> int:
    """Return the time that the hypervisor took from the most affected of these CPUs, in ticks of 10 ms (/proc/stat)."""
    ticks = 0
    for cpu in cpus:
        *_, line = stat.partition(b"\ncpu%d " % cpu)
        if line:
            ticks = max(ticks, int(line.split(None, 8)[7]))
    return ticks * TICK_NS


def thaw(container: str, root: Path = Path("/sys/fs/cgroup")) -> None:
    """Resume everything in a container, which version 1 cannot end while frozen. Its first process may have ended."""
    pattern = f"{root}/freezer/**/*{container}*/**/freezer.state"
    for state in glob.iglob(pattern, recursive=True):  # noqa: PTH207  Path.glob fails if a folder goes meanwhile
        with contextlib.suppress(OSError):  # it is just going
            Path(state).write_text("THAWED")


def first_child(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Return a process's oldest child, None if it has none or this kernel does not tell."""
    with contextlib.suppress(OSError, IndexError):
        return int((proc / f"{pid}/task/{pid}/children").read_bytes().split(None, 1)[0])
    return None


_this_thread = threading.local()


def own_times() -> bytes:
    """Return the kernel's text about the calling thread, for `delay_between`; parsing it costs more than reading it."""
    if not hasattr(_this_thread, "times"):  # the first call, also after a fork
        _this_thread.times = opened(f"/proc/{threading.get_native_id()}/{TIMES}")
    return read_now(_this_thread.times, SHORT_BYTES)


# The file is the parent's. Only in the child is this the dictionary of the thread that forked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _this_thread.__dict__.clear())  # noqa: PLW0108


def delay_between(before: bytes, after: bytes) -> int:
    """Return how long a thread was ready but did not run between two readings; 0 if the kernel does not count it."""
    return (leader_times(after)[1] or 0) - (leader_times(before)[1] or 0)


def leader_times(text: bytes) -> tuple[int | None, int | None]:
    """Return CPU time and run-queue delay in nanoseconds; a wait counts when it is over."""
    words = text.split()
    if len(words) != 3 or words[0] == b"0":  # a kernel that does not count reports 0; a running thread has used some
        return (None, None)
    return (int(words[0]), int(words[1]))


def _value(text: bytes, name: bytes) -> int | None:
    for line in text.splitlines():
        key, _, value = line.partition(b" ")
        if key == name:
            return int(value)
    return None
