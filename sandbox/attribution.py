"""Whose fault is a missed deadline: the bot's, or this host's?

Theory of operation
-------------------
A bot that missed its deadline while it was kept from running is not guilty. *Stolen* time is time in which something
of the bot wanted to run and nothing of it ran, and that was not its own doing. Own time is wall time less stolen
time, and a bot is late if its own time is over the limit.

Evidence, best first:

* `full_ns`: the container's pressure-stall total "full" (cgroup v2's cpu.pressure; also beside a v1 engine where the
  kernel keeps a unified hierarchy). It counts exactly this, for all processes together: a bot that starts threads to
  wait for each other cannot make any of it, since one of them is running.
* `delay_ns`: the sum of all tasks' run-queue delays, where there is no pressure file. A bot could forge it (four
  threads on one CPU wait for each other), so it is bounded by the CPU time that the wall clock promised and the bot
  did not use.
* `steal_ns`: what the hypervisor took from this host's CPUs. `frozen_ns` or `frozen`: the container was stopped from
  outside; a bot can stop itself, but cannot freeze its control group.
* `throttled_ns` is in the pressure total too; it is our own configuration, so it stays the bot's time.

At the deadline itself a starved bot's own time is always below the limit, guilty or not. So where more than
`NOISE_NS` was stolen the referee goes on *watching*, without ever counting what comes: an answer whose own time is
inside the limit was stolen by the host; own time that runs past the limit is the bot's. The watch ends at
`WATCH_FACTOR` times the limit as unknown. The deadline is never stretched: the watch decides only between a conviction
and a void.

Pure: nothing here reads a clock or a file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

NOISE_NS = 500_000
"""What the pressure total shows on an idle host without anything stolen: 0.1 ms measured, up to 0.3 ms seen."""

WATCH_FACTOR = 2
"""Wall time over limit at which the watch gives up."""


class Blame(StrEnum):
    """Whose fault a missed deadline is."""

    BOT = "bot"
    HOST = "host"
    UNKNOWN = "unknown"  # treated like HOST: nobody is convicted on it


@dataclass(frozen=True, slots=True)
class Counters:
    """Readings of one container at one moment, all since some earlier origin. None: this host cannot tell."""

    cpu_ns: int | None = None
    full_ns: int | None = None
    delay_ns: int | None = None
    throttled_ns: int = 0
    steal_ns: int = 0
    frozen_ns: int = 0
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What happened to one seat between its prompt and `wall_ns` later. `late_ns`: the referee's own lateness."""

    limit_ns: int
    wall_ns: int
    late_ns: int = 0
    cpu_ns: int | None = None
    full_ns: int | None = None
    delay_ns: int | None = None
    throttled_ns: int = 0
    steal_ns: int = 0
    frozen_ns: int = 0
    frozen: bool = False

    @property
    def signal(self) -> str:
        """Which counter speaks for waiting: ``pressure``, ``run-delay`` or ``none``."""
        if self.full_ns is not None:
            return "pressure"
        return "none" if self.delay_ns is None or self.cpu_ns is None else "run-delay"

    @property
    def stolen_ns(self) -> int:
        """Time in which the bot wanted to run and could not, by no doing of its own."""
        waited_ns = 0
        if self.full_ns is not None:
            waited_ns = max(0, self.full_ns - self.throttled_ns)
        elif self.delay_ns is not None and self.cpu_ns is not None:
            waited_ns = max(0, min(self.delay_ns, self.wall_ns - self.cpu_ns) - self.throttled_ns)
        return min(self.wall_ns, waited_ns + self.steal_ns + self.frozen_ns + self.late_ns)

    @property
    def own_ns(self) -> int:
        """Wall time that was the bot's own."""
        return self.wall_ns - self.stolen_ns

    def as_dict(self) -> dict[str, object]:
        """For the ledger of attempts and for the author."""
        return {**asdict(self), "signal": self.signal, "stolen_ns": self.stolen_ns, "own_ns": self.own_ns}


def between(before: Counters, after: Counters, limit_ns: int, wall_ns: int, late_ns: int = 0) -> Evidence:
    """The evidence of an interval, from the readings at its ends."""
    return Evidence(
        limit_ns=limit_ns,
        wall_ns=wall_ns,
        late_ns=late_ns,
        cpu_ns=_grown(before.cpu_ns, after.cpu_ns),
        full_ns=_grown(before.full_ns, after.full_ns),
        delay_ns=_grown(before.delay_ns, after.delay_ns),
        throttled_ns=max(0, after.throttled_ns - before.throttled_ns),
        steal_ns=max(0, after.steal_ns - before.steal_ns),
        frozen_ns=max(0, after.frozen_ns - before.frozen_ns),
        frozen=after.frozen,
    )


def at_deadline(evidence: Evidence) -> Blame | None:
    """The verdict when nothing came in time; None: something was stolen, watch on."""
    if evidence.frozen:
        return Blame.HOST
    return None if evidence.stolen_ns > NOISE_NS else Blame.BOT


def while_watching(evidence: Evidence, answered: bool, watch_factor: int = WATCH_FACTOR) -> Blame | None:
    """The verdict past the deadline; None: watch on."""
    if evidence.frozen:
        return Blame.HOST
    if answered:
        return Blame.HOST if evidence.own_ns <= evidence.limit_ns else Blame.BOT
    if evidence.own_ns > evidence.limit_ns:
        return Blame.BOT
    return Blame.UNKNOWN if evidence.wall_ns > watch_factor * evidence.limit_ns else None


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)
