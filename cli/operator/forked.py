"""Forked copies of this process, for a tree whose children run the same packages.

Theory of operation
-------------------
A new interpreter needs two seconds of a processor to import the server, and 90 MB that no other process shares. A copy
has everything at once, and the kernel keeps each page only once until somebody writes to it. Copying is safe if the
parent has nothing that two processes cannot both have: no second thread (which may hold a lock that nobody would
release in the copy), no connection, no lock on a file. So the parent imports, opens nothing, and copies itself.

`fork` returns twice, as the system call does. The copy leaves its caller's frames in the ordinary way and begins its
task; the interpreter then ends like any other, with its exit code and its exit handlers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

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
