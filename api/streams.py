"""Open streams of server-sent events, limited per process and per address, because one address could otherwise take all
of them. Refused clients poll from time to time, like pages without streams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException
from starlette.requests import Request

from deadheat.api.edge.rates import address

SHARE = 2
"""One address has at most half of all streams, because a whole hall may have one."""


class Streams:
    """Open streams of one kind, in the event loop's thread. `retry_seconds`: when a refused client may try again."""

    def __init__(self, most: int, retry_seconds: int) -> None:
        self._most = most
        self._retry = {"Retry-After": str(retry_seconds)}
        self._open = Counter[str]()

    @property
    def total(self) -> int:
        return self._open.total()

    def check(self, request: Request) -> None:
        """Raise HTTPException 429 if there is no room for another stream of this address."""
        if self.total >= self._most:
            raise HTTPException(429, "Too many clients are watching already; poll instead.", self._retry)
        if self._open[address(request)] >= self._most // SHARE:
            said = "Too many clients are watching from your address already; poll instead."
            raise HTTPException(429, said, self._retry)

    @contextmanager
    def taken(self, request: Request) -> Iterator[None]:
        """Count one more stream inside the block."""
        asker = address(request)
        self._open[asker] += 1
        try:
            yield
        finally:
            self._open[asker] -= 1
            if not self._open[asker]:
                del self._open[asker]
