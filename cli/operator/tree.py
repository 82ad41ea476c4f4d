"""A tree of processes: children that are restarted when they end, and that end with their parent.

On a signal to stop, the tree lets its children finish (SIGTERM), then makes them hand back unfinished work
(`workers.stopping.SIGNAL`), and kills any that do not respond. A killed parent can do none of this: its children get
SIGTERM from the kernel, and those with long work do the rest themselves (`end_without_parent`).

Where `forks` is set, children are copies of this process. A new interpreter needs two seconds of a processor to import
the server, and 90 MB that no other process shares; a copy has everything at once. Copying is safe if the parent has
nothing that two processes cannot both have: no second thread, no connection, no lock on a file. So the parent imports,
opens nothing, and copies itself; one that serves metrics starts new interpreters.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deadheat.cli.console import ROOT
from deadheat.workers import stopping

ARG_START, ARG_END = 45, 46
"""Fields of /proc/self/stat after the state: the place in memory of the command line (proc(5))."""

_STOPPED = {signal.SIGTERM, signal.SIGINT}


class Forked:
    """A copy of this process as its parent sees it: the part of `subprocess.Popen` that a tree uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or minus the number of the signal that ended it, or None while it is running."""
        return self._look(os.WNOHANG)

    def wait(self) -> int | None:
        return self._look(0)

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    def _look(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def fork(words: Sequence[str]) -> Forked | None:
    """Copy this process. Return the copy in the parent, and None in the copy. The copy is shown as `python` with these
    words, leads its own session, and has a new interpreter's signals. Raises OSError.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPED)  # the copy must not handle a signal like its parent
    try:
        if pid := os.fork():
            return Forked(pid)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        _show(("python", *words))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return None


def _show(words: Sequence[str]) -> None:
    """Make `ps`, and processes that wait for processors, show these words, not the parent's, as far as they fit."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[ARG_START]), int(fields[ARG_END])
    if room := end - start:  # 0: the kernel does not let us know
        shown = "\0".join(words).encode()[: room - 1]
        ctypes.memmove(start, shown.ljust(room, b"\0"), room)


log = logging.getLogger(__name__)

FINISH_SECONDS = 20
"""How long children may continue their work after SIGTERM."""

HAND_BACK_SECONDS = 25
"""How long after that they may take to hand back unfinished work: an exchange of ten seconds (the heartbeat ends a
longer one), and the end of the containers. A slower child is killed, and its lease runs out."""

RESTART_SECONDS = 1.0
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)

DEADHEAT = (sys.executable, "-m", "deadheat.cli.main")

Process = subprocess.Popen[bytes] | Forked


@dataclass
class Child:
    """One process of a tree, running or not."""

    name: str
    arguments: list[str]
    process: Process | None = None
    started_at: float = 0.0


@dataclass
class Tree:
    """Children that are restarted when they end, and that end with this process."""

    environment: dict[str, str]
    finish_seconds: float = FINISH_SECONDS
    alive_file: Path | None = None  # touched while every child runs
    pass_fds: tuple[int, ...] = ()  # descriptors passed to new interpreters besides stdin, stdout and stderr
    forks: bool = False
    final: int | None = None  # a child's exit code that ends the whole tree
    ended_with: int = 0
    children: list[Child] = field(default_factory=list)
    stopping: bool = False
    fold_at: float = 0.0  # on the monotonic clock

    def add(self, name: str, arguments: Sequence[str]) -> None:
        self.children.append(Child(name, [*DEADHEAT, *arguments]))

    def add_jobs(self, name: str, queues: str, concurrency: int) -> None:
        """Add a child that takes this many jobs at a time from these queues."""
        self.add(name, ["jobs", queues, str(concurrency)])

    def run(self) -> list[str]:
        """Run until SIGTERM or SIGINT, then stop every child and return nothing. In a forked child, return its
        arguments at once, which say what to run.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        born = None
        try:
            while not self.stopping and born is None:
                born = self._look()
        finally:
            if born is None:
                self._stop()
                self._fold()
        return born.arguments[len(DEADHEAT) :] if born else []

    def _look(self) -> Child | None:
        """Start the children that do not run, and wait a moment. In a child forked here, return that child at once."""
        for child in self.children:
            if self._keep(child):
                return child
        if self.alive_file is not None and len(self._running()) == len(self.children):
            self.alive_file.touch()
        if time.monotonic() > self.fold_at:
            self._fold()
        time.sleep(0.2)
        return None

    def _fold(self) -> None:
        from deadheat.league import measured  # late, because prometheus_client reads its environment on import

        self.fold_at = time.monotonic() + measured.FOLD_SECONDS
        if folder := self.environment.get("PROMETHEUS_MULTIPROC_DIR"):
            try:
                measured.fold(Path(folder))
            except OSError as error:  # the disk is full or the folder was removed: matches continue
                log.warning("the counts of processes that have ended could not be merged: %s", error)

    def _on_signal(self, *_: object) -> None:
        self.stopping = True

    def _keep(self, child: Child) -> bool:
        """Start a child if it is not running, and return whether this process is that child."""
        if child.process is not None and child.process.poll() is not None:
            if self.final is not None and child.process.returncode == self.final:
                self.ended_with, self.stopping = self.final, True
                return False
            log.error("%s ended with code %s; starting it again", child.name, child.process.returncode)
            child.process = None
        if child.process is None and time.monotonic() - child.started_at > RESTART_SECONDS:
            child.started_at = time.monotonic()
            try:
                child.process = self._fork(child) if self.forks else self._begin(child)
            except OSError as error:  # out of memory or of files: the other children continue
                log.error("%s cannot be started, trying again: %s", child.name, error)
            else:
                return child.process is None
        return False

    def _fork(self, child: Child) -> Forked | None:
        forked = fork(child.arguments[1:])
        if forked is None:
            die_with_parent()
        return forked

    def _begin(self, child: Child) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            child.arguments,
            env=self.environment,
            cwd=ROOT,
            start_new_session=True,  # a Ctrl-C reaches only this process, which stops them
            pass_fds=self.pass_fds,
            preexec_fn=die_with_parent,  # noqa: PLW1509  it makes one system call
        )

    def _running(self) -> list[Process]:
        return [child.process for child in self.children if child.process is not None and child.process.poll() is None]

    def _stop(self) -> None:
        for process in self._running():
            process.terminate()
        for process in self._busy_after(self.finish_seconds):
            os.killpg(process.pid, stopping.SIGNAL)
        for process in self._busy_after(HAND_BACK_SECONDS):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _busy_after(self, seconds: float) -> list[Process]:
        """Wait at most `seconds` for the children to end, and return those still running."""
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at and self._running():
            time.sleep(0.05)
        return self._running()


def die_with_parent() -> None:
    """Make the kernel send SIGTERM to this process when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end_without_parent() -> None:
    """Make Celery's processes hand back their work if the tree was killed, and kill those that do not respond. Celery
    itself would wait for them, up to an hour for a person's match. Otherwise the tree does this (`Tree._stop`).
    """
    from celery.signals import worker_shutting_down

    parent = os.getppid()

    def end() -> None:
        for seconds, number in ((FINISH_SECONDS, stopping.SIGNAL), (HAND_BACK_SECONDS, signal.SIGKILL)):
            time.sleep(seconds)
            os.killpg(os.getpid(), number)

    def look(**_: object) -> None:
        if os.getppid() != parent:
            threading.Thread(target=end, daemon=True).start()

    worker_shutting_down.connect(look, weak=False)
