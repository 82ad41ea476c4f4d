"""A duel in which each seat has one time bank for all its replies but READY.

Seats may be asked together or by turns. A prompt's limit is the rest of the seat's bank, and the own time of the reply
is deducted from it (C-15), even if the reply is then refused. Banks are kept in nanoseconds and shown as whole
milliseconds rounded down, so a program is never told more than it has (B-11). A bank of 0 ns is a limit like any other,
which only a reply that took no time would meet.
"""

from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

from deadheat.engine.core import NS_PER_MS, Message, Reply, Seat, Step, made
from deadheat.engine.games.duel import SEATS, Duel

T = TypeVar("T")


class Banked(Duel):
    """One match with time banks, as a generator; see the top of this file."""

    def __init__(self, bank_ns: int) -> None:
        super().__init__()
        self.banks_ns = [bank_ns, bank_ns]

    def times(self, seat: Seat) -> str:
        """Return the rest of the seat's own bank and of the other one, in milliseconds, as lines show them."""
        return f"{self.banks_ns[seat] // NS_PER_MS} {self.banks_ns[1 - seat] // NS_PER_MS}"

    def ask_both(
        self, lines: tuple[str, str], read: Callable[[Seat, str], T]
    ) -> Generator[Step, Mapping[Seat, Reply], tuple[T, T]]:
        """Ask both seats at once, and return what `read` makes of their replies."""
        replies = yield self.tell([made(Message, (seat, lines[seat], self.banks_ns[seat])) for seat in SEATS])
        for seat in SEATS:
            self._charge(seat, replies[seat])
        first, second = self.answers(lines[0].partition(" ")[0], replies, read)
        return first, second

    def ask_one(
        self, seat: Seat, line: str, read: Callable[[Seat, str], T]
    ) -> Generator[Step, Mapping[Seat, Reply], tuple[T, Reply]]:
        """Ask the seat whose turn it is; return what `read` makes of its reply, and the reply itself."""
        replies = yield self.tell([made(Message, (seat, line, self.banks_ns[seat]))])
        self._charge(seat, replies[seat])
        (answer,) = self.answers(line.partition(" ")[0], replies, read)
        return answer, replies[seat]

    def _charge(self, seat: Seat, reply: Reply) -> None:
        bank_ns, own_ns = self.banks_ns[seat], reply.own_ns
        assert reply.line is None or 0 <= own_ns <= bank_ns, "a late line is a transport's timeout"
        self.banks_ns[seat] = max(0, bank_ns - own_ns)
