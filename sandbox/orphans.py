"""Ends plain bots whose starter was killed: kill -9 leaves it no time to do so, and a computing bot would never notice.

A shell waits beside each process that starts plain bots. It reads from a pipe whose other end only that process has, so
it wakes when the process is gone, however it ended. Then it kills every process with the mark in its environment, and
ends.
"""

from __future__ import annotations

import itertools
import os
import secrets
import subprocess

MARK = "DEADHEAT_RUN"
"""The variable that every process of a run inherits."""

_SCRIPT = """
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

_numbers = itertools.count()
_prefix = ""
"""The prefix of all marks of this process; empty while no watcher runs."""

_pipe = -1


def mark() -> str:
    """Return a new mark, which begins with the prefix that this process's watcher knows."""
    if not _prefix:
        _watch()
    return f"{_prefix}{next(_numbers)}"


def _watch() -> None:
    global _prefix, _pipe  # noqa: PLW0603  one watcher a process
    prefix = f"{os.getpid()}-{secrets.token_hex(8)}-"
    theirs, _pipe = os.pipe()
    try:
        subprocess.run(
            ["/bin/sh", "-c", _SCRIPT, "sh", f"{MARK}={prefix}"],
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
    _prefix = prefix


def _forget() -> None:
    """Leave the parent's watcher to the parent after a fork."""
    global _prefix, _pipe
    if _prefix:
        os.close(_pipe)
    _prefix, _pipe = "", -1


os.register_at_fork(after_in_child=_forget)
