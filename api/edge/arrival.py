"""When a request had arrived: its last byte, before anything here waits for a thread, for Redis or for the database.

The server's protocol notes when it has read the end of a body. While the event loop stands still, bytes wait unread,
nobody knows since when. So the loop has a pulse: what is read arrived at the earliest at the last beat but one, and a
late beat ends a standstill, which began when that beat was due and could no longer be called punctual.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import timedelta

BEAT_SECONDS, LATE_SECONDS = 0.25, 0.1  # four wake-ups a second cost 0.1 % of a processor
_beats: deque[float] = deque(maxlen=2)
_standstills: deque[tuple[float, float]] = deque(maxlen=4096)  # more than between a question and the end of its turn


class Arrival:
    """The instant at which it is made. Without a pulse, nothing is known to have waited."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._beat_at = _beats[0] if _beats else self._at

    def ago(self) -> timedelta:
        return timedelta(seconds=time.monotonic() - self._at)

    def ours(self, since: timedelta, given: Iterable[Sequence[timedelta]] = ()) -> timedelta:
        """Return for how much of the time `since` before it nobody may have looked, without what was `given` already:
        times that began and ended so long before it.
        """
        begins = self._at - since.total_seconds()
        unseen = max(begins, self._beat_at)
        stood = [(max(began, begins), min(end, unseen)) for began, end in [*_standstills]]
        stood = [(unseen, self._at), *((began, end) for began, end in stood if began < end)]
        gone = [[self._at - each.total_seconds() for each in pair] for pair in given]
        twice = sum(max(0.0, min(end, until) - max(began, away)) for began, end in stood for away, until in gone)
        return timedelta(seconds=sum(end - began for began, end in stood) - twice)


async def beat() -> None:
    """Keep the pulse of this process's event loop until cancelled."""
    try:
        while True:
            at = time.monotonic()
            if _beats and at - _beats[-1] > BEAT_SECONDS + LATE_SECONDS:
                _standstills.append((_beats[-1] + BEAT_SECONDS + LATE_SECONDS, at))
            _beats.append(at)
            await asyncio.sleep(BEAT_SECONDS)
    finally:
        _beats.clear()
        _standstills.clear()
