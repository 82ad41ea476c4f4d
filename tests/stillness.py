"""Repeats verdicts about time that were wrong while this machine stood still.

No counter shows every pause of a virtual machine, and whoever computed when it began is charged for it. A bot may then
be convicted although the product did nothing wrong. A clock that is wrong is wrong every time.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

TRIES = 3
STEP_SECONDS, STILL_SECONDS = 0.02, 0.1

Told = TypeVar("Told")


class Disturbed(AssertionError):
    """A verdict is wrong, perhaps because of a pause."""


def judged(right: object, told: object = "") -> None:
    """Assert a verdict that a pause of this machine may change."""
    if not right:
        raise Disturbed(str(told))


class Watch(threading.Thread):
    """Measures how long this machine stood still at most."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.longest = 0.0

    def run(self) -> None:
        while not self.over.is_set():
            began = time.monotonic()
            self.over.wait(STEP_SECONDS)
            self.longest = max(self.longest, time.monotonic() - began - STEP_SECONDS)

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def unless_still(attempt: Callable[[], Told]) -> Told:
    """Make an attempt, and repeat it if it is `Disturbed` while this machine stood still."""
    for _ in range(TRIES - 1):
        with Watch() as watch:
            try:
                return attempt()
            except Disturbed as error:
                failed = error
        if watch.longest < STILL_SECONDS:
            raise failed
        print(f"This machine stood still for {watch.longest:.2f} s; trying again after: {failed}")
    return attempt()
