"""The interface between the referee's side and whatever confines a bot: a `Box` runs one program repeatedly, with a
fresh process for each match, and returns a `Channel` (two descriptors) for each run.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from deadheat.engine.core import Measured, TransportError
from deadheat.sandbox.attribution import Blame, Counters

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The environment variables of a confined bot."""


SYSTEM: str = sys.platform
MEASURES = SYSTEM == "linux"
"""Whether this system has the counters from which own time follows, and what confines programs."""

ABOUT_TIME: Mapping[str, str] = {} if MEASURES else {"time": "wall clock"}
"""What transcripts from here say about their times (`engine.transcript.wall_clock`)."""

HEAD_BYTES, TAIL_BYTES = 8 * 1024, 48 * 1024
"""What is kept of a program's stderr: its beginning and its end."""


class SandboxError(TransportError):
    """A box could not be opened, started or stopped: our failure, never the bot's."""


@dataclass(frozen=True, slots=True)
class Program:
    """A built bot: a directory, and the command that starts it with that directory as working directory."""

    directory: Path
    command: tuple[str, ...]
    label: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that one box may use. `cpus` is a cpuset list ("0", "1-2"), empty for any processor."""

    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 64
    tmp_bytes: int = 64 * 1024 * 1024
    tmp_inodes: int = 4096
    open_files: int = 256
    file_bytes: int = 64 * 1024 * 1024
    cpus: str = ""
    building: bool = False  # has the image's compilers and the system calls that they need; no match is played in it
    scratch: Mapping[str, str] = field(default_factory=dict)  # further tmpfs mounts: path -> options

    @property
    def cpu_numbers(self) -> list[int]:
        """Return the CPU numbers in `cpus`."""
        spans = [part.partition("-") for part in self.cpus.split(",") if part]
        return [cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1)]


BOT_MEMORY_BYTES = 1024 * 1024 * 1024
"""Every game's memory limit is the largest that one of the source texts names (1024 MB)."""


def bot_limits(cpus: Sequence[int]) -> Limits:
    """Return the limits of a bot's box, pinned to the first of these processors, as all of a match (ruling C-17)."""
    return Limits(memory_bytes=BOT_MEMORY_BYTES, cpus=str(cpus[0]) if cpus else "")


class Meter:
    """Reads one box's counters, which may count from any origin; None stands for one that cannot be measured. This one
    measures nothing. Simple ones override `cpu_ns` and `counters`.
    """

    cpus: Collection[int] = ()
    """The processors to which the box is confined, if it is."""

    _marked = Counters()

    def cpu_ns(self) -> int | None:
        """Return the CPU time used so far."""
        return None

    def counters(self, fresh: bool = True) -> Counters:
        """Return all that attribution needs. If not `fresh`, what rarely changes may be some ms old, which is cheap."""
        return Counters()

    def waiting_ns(self) -> int:
        """Return the longest time for which the bot may be waiting for a processor, if the counters show a wait only
        when it is over. Call this before `counters`, and repeatedly: it compares with the previous call.
        """
        return 0

    def mark(self) -> None:
        """Note everything that attribution needs, as a prompt begins. Cheap enough for every prompt."""
        self._marked = self.counters()

    def marked(self) -> Counters:
        """Return the counters noted at the mark."""
        return self._marked

    def spent_ns(self) -> int | None:
        """Return the CPU time used since the mark; cheap enough for every reply."""
        before_ns, now_ns = self._marked.cpu_ns, self.cpu_ns()
        return None if before_ns is None or now_ns is None else now_ns - before_ns


@dataclass(slots=True)
class Channel:
    """One run of a bot as the transport sees it."""

    stdin_fd: int
    stdout_fd: int
    meter: Meter = field(default_factory=Meter)
    out_of_memory: Callable[[], Blame | None] = lambda: None  # the owner of the limit that a killed process exceeded
    kill: Callable[[], None] = lambda: None  # ends all processes of the run; from any thread
    unsent: bytes = b""
    unread: bytes = b""
    calls: int = 0  # reads and writes so far
    inside: bool = False  # in one of them now
    killed: bool = False  # because it held a pipe (see `sandbox.arena`)


@dataclass(frozen=True)
class Exit(Measured):
    """The end of one run. Exactly one of `exit_code` and `signal` is set, or neither when `lingered`."""

    exit_code: int | None
    signal: int | None
    lingered: bool  # the program had to be killed
    stderr: bytes


class Box(Protocol):
    """A place that confines a bot. After a `SandboxError` it is unusable: close it and open another."""

    def start(self) -> Channel:
        """Start a fresh process of the program. Raises SandboxError."""

    def favour(self, yes: bool) -> None:
        """Give the box precedence over those on its processor that are not favoured; each is at first."""

    def rest(self, yes: bool) -> None:
        """Pause everything in the box, or resume it. If pausing fails, it keeps running, but behind all favoured boxes.
        Not while a prompt is open: it takes tens of milliseconds. Raises SandboxError if it cannot be resumed.
        """

    def stderr_so_far(self) -> bytes:
        """Return the run's stderr kept so far, as `stopped` would. Not in matches: the answer may need the bot's own
        processor. Raises SandboxError.
        """

    def ask_stop(self, grace_ns: int) -> None:
        """Begin to end the run: the bot has `grace_ns` to exit by itself, then all its processes are killed."""

    def stopped(self) -> Exit:
        """Wait for the end begun by `ask_stop`, after which no process of the run is left. Raises SandboxError."""

    def close(self) -> None:
        """Release everything. Idempotent; never raises because of the bot's actions."""


class Sandbox(Protocol):
    """A factory that opens boxes."""

    def open(self, program: Program, limits: Limits) -> Box:
        """Open a box that is ready to start the program. Raises SandboxError."""


class Plain:
    """A sandbox whose programs are this machine's own, and run as this user."""
