"""The scheduler: sends the message of each periodic task whenever its interval has passed.

Any number may run, and none knows of the others: a task that is sent twice, even at the same instant, has the effect of
one (`tests/workers/test_scheduler.py`). Intervals are measured by the monotonic clock, and nothing is stored.
"""

import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from deadheat.workers.broker.queue import INTERVALS, TICK_SECONDS, enqueue_periodic

log = logging.getLogger(__name__)


def run(alive_file: Path | None) -> NoReturn:
    """Run until SIGTERM. `alive_file` is touched every few seconds."""
    signal.signal(signal.SIGTERM, _end)
    for seconds in pauses(enqueue_periodic):
        if alive_file is not None:
            alive_file.touch()
        time.sleep(seconds)
    raise AssertionError("there is always another pause")


def pauses(send: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Iterator[float]:
    """Send what is due, and yield the seconds until more is, without end. What the broker refuses stays due."""
    due = dict.fromkeys(INTERVALS, clock())
    while True:
        try:
            for task, seconds in INTERVALS.items():
                if due[task] <= clock():
                    send(task)
                    due[task] = clock() + seconds
            yield max(0.0, min(due.values()) - clock())
        except Exception as error:  # noqa: BLE001  brokers may raise anything
            log.warning("the broker takes no message; trying again: %r", error)
            yield TICK_SECONDS


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit()
