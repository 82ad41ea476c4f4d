"""A transport without processes: bots are Python callables and say how much time they take.

It serves unit tests, simulations and measurements of the pure engine. The same faults can happen as over pipes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deadheat.engine.core import MAX_LINE_BYTES, Fault, Message, Reply, Seat, made

SHORT = MAX_LINE_BYTES // 4
"""A line of so many characters cannot be too long: in UTF-8 each has at most four bytes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A simulated bot's answer to a prompt: a line after some simulated time, or a fault of the pipe."""

    line: str | None
    elapsed_ns: int = 0
    fault: Fault | None = None


Player = Callable[[Message], "Answer | str | None"]
"""Called with every line. A prompt is answered with a line, an `Answer` or None (silence); a notice with None."""


class MemoryTransport:
    """Applies the clock's rules to simulated bots: time first, then length (rulings C-02, C-03, C-09)."""

    def __init__(self, players: Sequence[Player]) -> None:
        self._players = players

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        """See `engine.core.Transport`; never raises `TransportError` of its own."""
        replies: dict[Seat, Reply] = {}
        for message in messages:
            seat, _, limit_ns = message
            answer = self._players[seat](message)
            if limit_ns is None:
                continue
            if type(answer) is str and len(answer) <= SHORT:  # nearly always
                replies[seat] = made(Reply, (answer, 0, None, None, 0, 0, None))
            else:
                replies[seat] = judged(answer, limit_ns)
        return replies


def judged(answer: Answer | str | None, limit_ns: int) -> Reply:
    """Return the reply that a transport would make of a simulated bot's answer to a prompt with that limit."""
    if answer is None:
        return Reply(None, limit_ns, Fault.TIMEOUT)
    if isinstance(answer, str):
        answer = Answer(answer)
    if answer.elapsed_ns > limit_ns:
        return Reply(None, limit_ns, Fault.TIMEOUT)
    if answer.fault is not None or answer.line is None:
        return Reply(None, answer.elapsed_ns, answer.fault or Fault.EXITED)
    if len(answer.line.encode("utf-8", "surrogateescape")) > MAX_LINE_BYTES:
        return Reply(None, answer.elapsed_ns, Fault.OVERFLOW)
    return Reply(answer.line, answer.elapsed_ns)
