"""The frame of a match between two seats, each of which loses by any fault of its own.

Theory of operation
-------------------
A subclass writes its rounds as a generator and need not handle faults: it yields `tell` with a prompt to either seat or
to both, passes the replies to `answers`, and gets as many values back. If a reply is refused, `answers` raises
`Forfeited`, which ends the match here: all replies have been checked by then (C-01), and the other seat is sent only
FINISH (C-14). Duels with time banks, asked together or by turns, are in `banked`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

from deadheat.engine.core import READY_LIMIT_NS, Event, Message, Points, Reply, Result, Seat, Step, made
from deadheat.engine.games.parsing import Refused, expect, line_of

SEATS = (0, 1)

T = TypeVar("T")


class Pending:
    """Notices and events that wait for the next step; a match of any game can build on it.

    A step is a barrier, so the conclusions of the rules from its replies wait: `notices` and `events` are collected,
    and `tell` puts them in front of the next messages.
    """

    def __init__(self) -> None:
        self.notices: list[Message] = []
        self.events: list[Event] = []

    def tell(self, messages: Sequence[Message]) -> Step:
        """Make a step of the waiting notices and events, then `messages`."""
        if self.notices:
            messages = (*self.notices, *messages)
            self.notices.clear()
        step = made(Step, (tuple(messages), tuple(self.events)))
        self.events.clear()
        return step


class Forfeited(Exception):
    """Carries the faults of one barrier to the end of the match; caught by `Duel.play`."""

    def __init__(self, command: str, refusals: Mapping[Seat, Refused]) -> None:
        super().__init__(command)
        self.command = command
        self.refusals = refusals


class Duel(Pending, ABC):
    """One match, as a generator; see the top of this file."""

    @abstractmethod
    def rounds(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Play the part of a match between READY and FINISH."""

    def ready(self, seat: Seat) -> str:
        """Return the line that asks a seat whether it is ready: READY, and what the game adds to it."""
        return "READY"

    @abstractmethod
    def points(self) -> tuple[Points, Points]:
        """Return the current score of both seats."""

    @abstractmethod
    def final(self) -> Event:
        """Return the last event for viewers: the score and its parts."""

    def play(self) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """Play from READY to FINISH, or to the first barrier with a fault."""
        try:
            replies = yield self.tell([Message(seat, self.ready(seat), READY_LIMIT_NS) for seat in SEATS])
            self.answers("READY", replies, lambda _seat, line: expect(line, "OK", 0))
            yield from self.rounds()
        except Forfeited as forfeited:
            return (yield from self.forfeit(forfeited))
        yield self.finish(SEATS)
        first, second = points = self.points()
        return Result((1 if first >= second else 2, 1 if second >= first else 2), points)

    def answers(self, command: str, replies: Mapping[Seat, Reply], read: Callable[[Seat, str], T]) -> list[T]:
        """Return the answers of the seats that were asked `command`, in their order, as `read` interprets them by the
        rules.

        Raises:
            Forfeited: at least one of the replies is a fault or is refused.
        """
        answers: list[T] = []
        refusals: dict[Seat, Refused] = {}
        for seat in sorted(replies):
            try:
                answers.append(read(seat, line_of(replies[seat])))
            except Refused as refused:
                refusals[seat] = refused
        if refusals:
            raise Forfeited(command, refusals)
        return answers

    def finish(self, seats: tuple[Seat, ...]) -> Step:
        """Make the last step: FINISH to these seats."""
        self.events.append(self.final())
        return self.tell([Message(seat, "FINISH") for seat in seats])

    def forfeit(self, forfeited: Forfeited) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """End by a fault: the seat without one wins, whatever the score (C-13); after two, nobody wins (C-01)."""
        command, refusals = forfeited.command, forfeited.refusals
        self.events += [
            {"type": "fault", "seat": seat, "fault": refused.fault.value, "command": command, "why": refused.why}
            for seat, refused in refusals.items()
        ]
        yield self.finish(tuple(seat for seat in SEATS if seat not in refusals))
        ranks = (1, 1) if len(refusals) == 2 else tuple(2 if seat in refusals else 1 for seat in SEATS)
        return Result(ranks, None, {seat: refused.fault for seat, refused in refusals.items()})
