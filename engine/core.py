"""The vocabulary of a match.

Theory of operation
-------------------
A *game* is a generator. It yields a `Step` (lines for the seats, some of which demand an answer) and receives
exactly one `Reply` for every line that carried a limit. It never sees a clock, a pipe or a database, so the
same code runs under the judge, in a unit test with simulated time, and when a stranger verifies a transcript.

A step is a barrier: every prompted seat has answered or failed before anyone learns anything. A bot's failure
is therefore always a *value* (`Fault`, inside a `Reply` or a `Result`); our own failure is always an *exception*
(`TransportError`), which voids the attempt and never costs a bot points.

A match makes thousands of `Message`, `Reply` and `Step` objects, so these are named tuples: a frozen dataclass takes
two to three times as long to make. The busiest code calls `made`, which takes half the time of the class.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol

from deadheat.engine.own_time import Evidence

if TYPE_CHECKING:
    from deadheat.engine.chance import Chance

Seat = int
"""0-based place in one match."""

Event = Mapping[str, object]
"""What a viewer shows of a step; a JSON object with at least the key ``type``."""

MAX_LINE_BYTES = 4096
"""Longest reply line, newline not counted (ruling C-09)."""

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

READY_LIMIT_NS = 3 * NS_PER_S
"""The limit of READY, which every game asks of all seats at once before anything else (ruling C-11)."""

STDERR_KEPT_BYTES = 56 * 1024 + 80
"""How much of a program's stderr in one match a box keeps, in every backend (see images/init.c)."""

made = tuple.__new__
"""Make a named tuple of all its fields, unchecked: ``made(Message, (seat, line, limit_ns))``. It fills in no defaults:
`_look` and `_reply` in `sandbox.pipes`, and `exchange` in `engine.memory`, make replies this way.
"""


class Fault(StrEnum):
    """The reason why a bot lost its place: always the bot's fault, never ours."""

    TIMEOUT = "timeout"  # no complete line within the limit of its own time
    EXITED = "exited"  # end of file before the reply
    OVERFLOW = "overflow"  # a line longer than MAX_LINE_BYTES
    MALFORMED = "malformed"  # a line that is not in the protocol's grammar
    ILLEGAL = "illegal"  # a grammatical line that the rules forbid
    UNEXPECTED = "unexpected"  # output that no prompt asked for
    MEMORY = "memory"  # killed for exceeding its memory limit


FOUND_BY_RULES = frozenset({Fault.MALFORMED, Fault.ILLEGAL})
"""Faults that only a reader of the line can find. Every other kind is found by a transport and comes without a line."""


class Message(NamedTuple):
    """One line to one seat: a *prompt* if `limit_ns` is set, else a *notice* that needs no reply."""

    seat: Seat
    line: str
    limit_ns: int | None = None

    @property
    def command(self) -> str:
        """The protocol word, for metrics and summaries; a JSON line is a bot's turn."""
        word = self.line.partition(" ")[0]
        return "TURN" if word[:1] == "{" else word


class Reply(NamedTuple):
    """The one answer to a prompt.

    `elapsed_ns` runs on the referee's monotonic clock from just before the prompt's write to its newline's read (ruling
    C-03). The host took `stolen_ns` of it from the bot, as `evidence` shows; there is evidence whenever time was taken,
    and for every timeout that a clock measured. `cpu_ns` is the CPU time that the bot's whole sandbox used meanwhile,
    None where nothing could measure it. `late_ns` is how late the referee itself noticed: evidence, never part of a
    verdict.
    """

    line: str | None
    elapsed_ns: int
    fault: Fault | None = None
    cpu_ns: int | None = None
    late_ns: int = 0
    stolen_ns: int = 0
    evidence: Evidence | None = None

    @property
    def own_ns(self) -> int:
        """The reply's own time, which limits bound and time banks are charged."""
        return self.elapsed_ns - self.stolen_ns


class Step(NamedTuple):
    """Lines to write, in this order, with the events that viewers show."""

    messages: tuple[Message, ...]
    events: tuple[Event, ...] = ()


Points = int | Fraction


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a match.

    `ranks[seat]` is 1 for the best; equal ranks are a tie. `points` are for people, and None if there are no
    meaningful ones (after a forfeit). `faults` keeps every fault that was committed.
    """

    ranks: tuple[int, ...]
    points: tuple[Points, ...] | None
    faults: Mapping[Seat, Fault] = field(default_factory=dict)

    @property
    def rated(self) -> bool:
        """Whether the match says anything about strength: not if every seat lost by its own fault (ruling C-01)."""
        return len(self.faults) < len(self.ranks)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurements of a whole run, shown to the bot's author; None for a figure that nothing measured."""

    cpu_ns: int | None = None
    peak_memory_bytes: int | None = None


class Game(Protocol):
    """The rules of one game; see docs/how-to/add-a-game.md."""

    name: str
    title: str
    rules_version: int
    seats: range

    @property
    def commands(self) -> tuple[str, ...]:
        """The words with which the game's prompts begin."""

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """Play one match. Everything random comes from `chance`; everything else from the replies."""


class Transport(Protocol):
    """Carries lines to bots and times their replies."""

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        """Write every line in order and return one reply for each prompt.

        Raises:
            TransportError: the service failed; nothing may be concluded about any bot.
        """


class TransportError(Exception):
    """The service failed: the attempt is void, and no bot pays.

    `cause` is a short stable word for metrics (``host-memory``, ``container-died``, ...); `evidence` goes into the
    record of the attempt, with the ``seat`` whose prompt was open, if any.
    """

    def __init__(self, cause: str, detail: str, **evidence: object) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail
        self.evidence = evidence
