"""Frees a referee from a pipe that a bot holds.

A read or write of a pipe sleeps while the other end holds the pipe's lock, even without blocking, and no signal wakes
it. A bot can hold the lock for as long as it likes; meanwhile the referee has no clock and no heartbeat. So another
thread of its process looks at it every second, and kills the bot that holds it for `HELD_LOOKS` looks. Looks are
counted, not seconds: if the whole process was stopped, none was made.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Collection
from pathlib import Path
from weakref import WeakKeyDictionary

from deadheat.sandbox.box import Channel

log = logging.getLogger(__name__)

LOOK_SECONDS, HELD_LOOKS = 1.0, 5

_watched: WeakKeyDictionary[Referee, None] = WeakKeyDictionary()
_thread: dict[str, threading.Thread] = {}
"""The thread that looks, once it is needed. No lock guards it: a fork might keep one locked for ever."""


class Referee:
    """The channels that a thread of this process reads and writes."""

    def __init__(self, channels: Collection[Channel]) -> None:
        self._channels = channels
        self._status = Path(f"/proc/self/task/{threading.get_native_id()}/stat")
        self._call: tuple[Channel, int] | None = None  # in which the thread slept at the last look
        self._looks = 0
        _watched[self] = None
        if not _thread:
            made = threading.Thread(target=_watch, name="held", daemon=True)
            if _thread.setdefault("", made) is made:
                made.start()

    def look(self) -> None:
        """Kill a bot in whose pipe the referee has slept since `HELD_LOOKS` looks."""
        held = next((channel for channel in self._channels if channel.inside), None)
        call = None
        if held is not None and self._status.read_bytes().rpartition(b")")[2].split()[0] == b"D":
            call = held, held.calls
        self._looks = self._looks + 1 if call == self._call else 1
        self._call = call
        if held is not None and call is not None and self._looks == HELD_LOOKS:
            log.warning("a bot that held a pipe is killed")
            held.killed = True
            held.kill()


def _watch() -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        referees: list[Referee] = []
        with contextlib.suppress(RuntimeError):  # another match has just begun: the next look finds it
            referees = [*_watched]
        while referees:
            with contextlib.suppress(OSError):  # its thread has just ended
                referees.pop().look()


os.register_at_fork(after_in_child=_thread.clear)
