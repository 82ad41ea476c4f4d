"""The scheduler's clock. Any number may run: one leads, the others stand by.

The leader holds a lease where the messages are: in Redis, or with the embedded queue as a lock in the data directory.
The lease is short and renewed with every beat, so if a leader dies, hangs or cannot reach Redis, another takes over
within `LEASE_SECONDS`. If two lead for a moment (Redis was flushed, or a stopped leader continues), some messages are
sent twice. This changes nothing: planning series locks the season, and a nudge is only a nudge.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from pathlib import Path
from typing import Any, Protocol

import redis
from celery.beat import Scheduler
from redis.exceptions import LockError, RedisError

from deadheat.league.config import Settings

log = logging.getLogger(__name__)

LEASE_SECONDS = 10
STANDBY_SECONDS = 1.0
CLOCK_STEP_SECONDS = 1.0
KEY = "deadheat:leader"
TIMEOUT_S = 5


class Lease(Protocol):
    """The right to lead."""

    def hold(self) -> bool:
        """Take or keep the lease. Return False if another process holds it. Raises RedisError if that is unknown."""

    def release(self) -> None:
        """Release the lease at once, for others to take."""


class RedisLease:
    """A lease in the form of an expiring key."""

    def __init__(self, url: str) -> None:
        client = redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._lock = client.lock(KEY, timeout=LEASE_SECONDS, blocking=False, thread_local=False)
        self._held = False

    def hold(self) -> bool:
        held, self._held = self._held, False
        if held:
            with contextlib.suppress(LockError):  # it expired, or Redis lost it
                self._held = bool(self._lock.reacquire())
        if not self._held:
            self._held = bool(self._lock.acquire())
        return self._held

    def release(self) -> None:
        if self._held:
            try:
                self._lock.release()
            except RedisError as error:
                log.info("the scheduler's lease was not given back and runs out by itself: %s", error)
            self._held = False


class FileLease:
    """A lease in the form of a lock, held until its process ends."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)


def lease_of(settings: Settings) -> Lease:
    """Return the lease shared by this deployment's schedulers."""
    if settings.broker.startswith(("redis://", "rediss://")):
        return RedisLease(settings.broker)
    return FileLease(settings.data_dir.absolute() / "leader")


class LedScheduler(Scheduler):
    """Celery's scheduler, which beats only while it leads. Due times are not stored, because intervals are seconds."""

    def __init__(self, *arguments: Any, lease: Lease, alive_file: Path | None = None, **options: Any) -> None:
        """`alive_file` is touched at every beat, leader or not."""
        self._lease = lease
        self._alive_file = alive_file
        self._led: bool | None = None
        self._ahead = _ahead()
        super().__init__(*arguments, **options)

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send the messages that are due, and return the seconds until the next beat."""
        try:
            leads = self._lease.hold()
        except RedisError as error:
            log.warning("Redis does not take our lease, so nothing is scheduled: %s", error)
            leads = False
        if leads is not self._led:
            log.info("this scheduler leads" if leads else "another scheduler leads; this one stands by")
            self._led = leads
        if self._alive_file is not None:
            self._alive_file.touch()
        if not leads:
            return STANDBY_SECONDS
        self._follow_the_clock()
        return min(float(super().tick(*arguments, **options)), LEASE_SECONDS / 3)

    def adjust(self, n: Any, drift: float = 0.0) -> Any:
        """Return the pause unchanged. Celery would wake up ten milliseconds early, find nothing due, and try again and
        again until something is: ten beats for each message.
        """
        return n

    def _follow_the_clock(self) -> None:
        """Restart the schedule if the clock was set back. Celery notes due times by the wall clock, so setting it back
        by an hour would delay everything by an hour.
        """
        before, self._ahead = self._ahead, _ahead()
        if self._ahead < before - CLOCK_STEP_SECONDS:
            log.warning("the clock was set back by %.0f s", before - self._ahead)
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now()
            self._heap = None

    def close(self) -> None:
        """Close the scheduler, so that another may take over at once."""
        self._lease.release()
        super().close()


def _ahead() -> float:
    """Return how many seconds the wall clock is ahead of the monotonic one."""
    return time.time() - time.monotonic()
