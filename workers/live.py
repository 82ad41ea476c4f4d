"""Shows spectators a running match, at a cost that no match notices.

Between two exchanges, when no bot's clock runs, the replies so far are written to the database
(`league.service.series.live`): first when the match has lasted a second, then about once a second, and seldom enough
that writing takes at most a fiftieth of the time. So a match of a few milliseconds, like most, costs only an append and
a reading of the clock per exchange. If writing fails, the spectator waits.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from deadheat.engine.core import Message, Reply, Seat, Transport
from deadheat.league.jobs import SeriesJob
from deadheat.workers.context import Context
from deadheat.workers.holding import UNREACHABLE

log = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
"""The delay before a match is first published, the shortest interval, and a spectator's least delay."""

COST_SHARE = 50
"""Publishing may take one part in this many of a match's time."""


class Broadcast:
    """Publishes the matches of one series, one after the other. Its failures never end a match."""

    def __init__(self, context: Context, job: SeriesJob, seconds: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._seconds = seconds
        self._job = job
        self._match_id = 0
        self._replies: list[Mapping[Seat, Reply]] = []
        self._shown = False
        self._due_at = 0.0

    def begin(self, match_id: int) -> None:
        """Begin to publish the next match."""
        self._match_id, self._replies, self._shown = match_id, [], False
        self._due_at = self._seconds() + EVERY_SECONDS

    def end(self) -> None:
        """Publish the end of the match to the spectators who saw it begin."""
        if self._shown:
            self._show()

    def around(self, transport: Transport) -> Transport:
        """Wrap a transport so that this broadcast hears its replies."""
        return _Overheard(transport, self)

    def hear(self, replies: Mapping[Seat, Reply]) -> None:
        """Keep an exchange that is over, and publish when due."""
        self._replies.append(replies)
        if self._seconds() >= self._due_at:
            self._show()

    def _show(self) -> None:
        began_at = self._seconds()
        try:
            taken = self._context.link.show(self._job, self._match_id, self._replies)
        except UNREACHABLE as error:
            log.warning("match %d cannot be shown now: %s", self._match_id, error)
            taken = False
        self._shown = self._shown or taken
        ended_at = self._seconds()
        self._due_at = ended_at + max(EVERY_SECONDS, COST_SHARE * (ended_at - began_at))


class _Overheard:
    """A transport that publishes the replies it returns."""

    def __init__(self, transport: Transport, broadcast: Broadcast) -> None:
        self._transport = transport
        self._broadcast = broadcast

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        replies = self._transport.exchange(messages)
        self._broadcast.hear(replies)
        return replies
