"""A clock for leagues in tests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that stands still except when it is turned forward, which calls its listeners."""

    def __init__(self) -> None:
        self.now = START
        self.listeners: list[Callable[[], None]] = []

    def __call__(self) -> datetime:
        return self.now

    def turn(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for listener in self.listeners:
            listener()
