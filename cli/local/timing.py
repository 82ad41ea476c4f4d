"""Response times of one bot by command, accumulated match by match in little memory.

Two ratios of a prompt matter: own time and CPU time, each as a share of the limit. They are counted in buckets that
grow as 1, 2, 5, because most bots use a hundredth of their limit, but the interesting ones nearly all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deadheat.engine.core import NS_PER_MS, Fault, Seat
from deadheat.engine.transcript import Transcript
from deadheat.engine.verdicts import Taken

EDGES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The buckets' upper edges, as shares of the limit. One more bucket holds late replies."""

LABELS = (".1", ".2", ".5", "1", "2", "5", "10", "20", "50", "100", "late")
"""The edges in percent, for the head of a histogram."""

BANK = "bank"
"""The row for the use of a time bank during a match, in games that have one."""


Value = TypeVar("Value", int, float)


@dataclass(slots=True)
class Times:
    """Durations measured against a limit."""

    buckets: list[int] = field(default_factory=lambda: [0] * len(LABELS))
    limit_ns: int = 0
    """The longest limit seen, because the rest of a bank shrinks."""
    varying: bool = False
    slowest_ns: int = 0
    values: Counter[int] = field(default_factory=Counter)
    """Counts by duration in nanoseconds, rounded to three digits, so that a million matches fit into memory."""

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def add(self, used_ns: int, limit_ns: int, late: bool) -> None:
        """Count one duration and its share of the limit."""
        bucket = len(EDGES) if late else min(bisect_left(EDGES, used_ns / max(1, limit_ns)), len(EDGES) - 1)
        self.buckets[bucket] += 1
        self.varying |= self.limit_ns not in (0, limit_ns)
        self.limit_ns = max(self.limit_ns, limit_ns)
        self.slowest_ns = max(self.slowest_ns, used_ns)
        self.values[rounded(used_ns, 3)] += 1

    def quantile(self, share: float) -> int:
        """Return the smallest duration that covers the given share of all; for the full share, the slowest itself."""
        return min(quantile(self.values, share), self.slowest_ns) if share < 1 else self.slowest_ns

    def as_dict(self) -> dict[str, Any]:
        return {
            "prompts": self.count,
            "limit_ms": _ms(self.limit_ns),
            "median_ms": _ms(self.quantile(0.5)),
            "p99_ms": _ms(self.quantile(0.99)),
            "slowest_ms": _ms(self.slowest_ns),
            "by_percent_of_limit": dict(zip(LABELS, self.buckets, strict=True)),
        }


@dataclass(slots=True)
class Clock:
    """The own and CPU times of all seats, by command in the order of first prompts, and what the host took."""

    own: dict[Seat, dict[str, Times]] = field(default_factory=dict)
    cpu: dict[Seat, dict[str, Times]] = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)

    def add(self, transcript: Transcript) -> None:
        """Count every answered or missed prompt of a match."""
        for prompt in transcript.prompts():
            reply, seat = prompt.reply, prompt.message.seat
            late = reply.fault is Fault.TIMEOUT
            if reply.line is None and not late:
                continue  # the program was gone or answered too early: nothing was timed
            command = prompt.message.command
            _of(self.own, seat, command).add(reply.own_ns, prompt.limit_ns, late)
            if reply.cpu_ns is not None:
                _of(self.cpu, seat, command).add(reply.cpu_ns, prompt.limit_ns, late=False)
        self.taken += Taken.of(transcript.prompts())
        final = next((event for event in transcript.events() if event.get("type") == "final"), {})
        left = final.get("bank_ns")
        for seat, left_ns in enumerate(left if isinstance(left, list) else ()):
            own = (p for p in transcript.prompts() if p.message.seat == seat and p.message.command != "READY")
            full_ns = max((prompt.limit_ns for prompt in own), default=0)  # the bank limits all but READY (ruling C-11)
            if full_ns:
                _of(self.own, seat, BANK).add(full_ns - left_ns, full_ns, late=left_ns == 0)

    def as_dict(self, seat: Seat) -> dict[str, Any]:
        cpu = self.cpu.get(seat, {})
        return {
            command: times.as_dict() | {"cpu": cpu[command].as_dict() if command in cpu else None}
            for command, times in self.own.get(seat, {}).items()
        }


def _of(by_seat: dict[Seat, dict[str, Times]], seat: Seat, command: str) -> Times:
    return by_seat.setdefault(seat, {}).setdefault(command, Times())


def quantile(values: Counter[Value], share: float) -> Value:
    """Return the smallest of counted values that covers the given share of all."""
    wanted = share * values.total()
    for value, count in sorted(values.items()):
        wanted -= count
        if wanted <= 0:
            return value
    return max(values)


def rounded(value_ns: int, digits: int) -> int:
    """Round a duration to `digits` significant digits, with halves rounded up."""
    unit: int = 10 ** max(0, len(str(value_ns)) - digits)
    return (value_ns + unit // 2) // unit * unit


def _ms(value_ns: int) -> float:
    return round(value_ns / NS_PER_MS, 3)
