"""Whose fault is a missed deadline: the bot's, or this host's?

Theory of operation
-------------------
A bot that missed its deadline while it was kept from running is not guilty. *Stolen* time is time in which something
of the bot wanted to run and nothing of it ran, and that was not its own doing. Own time is wall time less stolen
time, and a bot is late if its own time is over the limit.

Evidence. Both of the first two are lower bounds of stolen time that no bot can forge; the larger one counts.

* `full_ns`: the container's pressure-stall total "full" (cgroup v2's cpu.pressure; also beside a v1 engine where the
  kernel keeps a unified hierarchy). It counts exactly this, for all processes together: threads that a bot starts to
  wait for each other make none of it, since one of them is running. But the kernel weighs each interval between two
  readings by whole ticks: in an interval with less than a tick of activity (4 ms at 250 Hz) it shows nothing, and
  every prompt begins with a reading.
* `delay_ns`, `leader_cpu_ns`: what the bot's first thread waited for a CPU and used of it, to the nanosecond. While it
  waited, the bot's other threads may have run: what they used (`cpu_ns` - `leader_cpu_ns`) is taken off, so they
  cannot make any of it either. This sees what is shorter than a tick, and serves where there is no pressure file; it
  does not see that children are kept waiting. A wait is added when it ends.
* `steal_ns`: what the hypervisor took from this host's CPUs, in ticks. `frozen_ns` or `frozen`: the container was
  stopped from outside; a bot can stop itself, but cannot freeze its control group.
* `throttled_ns` is in the waits too; it is our own configuration, so it stays the bot's time.

At the deadline itself a starved bot's own time is always below the limit, guilty or not, and a wait that is not over
is not counted yet. So the referee goes on *watching*, without ever counting what comes: an answer whose own time is
inside the limit was stolen by the host; one whose own time is over it, or silence while own time runs past the limit
by `SETTLE_NS`, is the bot's. The watch ends at `WATCH_FACTOR` times the limit (or a little later, for short limits)
as unknown. The deadline is never stretched: the watch decides only between a conviction and a void.

Pure: nothing here reads a clock or a file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

NOISE_NS = 500_000
"""Less than this is not called stolen. Every wake-up costs a bot some microseconds, and a bot can read off how many:
without this bound it could aim at a deadline and have the match voided at will. Verdicts 1 ms and more beside a
deadline stay right."""

SETTLE_NS = 10_000_000
"""How far a silent bot's own time must be over its limit: two ticks at 250 Hz, so that every wait of its that was
going on at the deadline is over and counted, or has grown long enough to be seen."""

WATCH_FACTOR = 8
"""Wall time over limit at which the watch gives up: a bot that gets an eighth of a CPU is still convicted of an endless
loop. With 2, on a host with load 6 on two CPUs, such a bot had one match in two voided ..."""

SHORTEST_WATCH_NS, LONGEST_WATCH_NS = 200_000_000, 10_000_000_000
"""... but not before the one past the deadline (what is left of a time bank may be next to nothing), and not after the
other (the lease on the series is renewed between exchanges only)."""


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
    leader_cpu_ns: int | None = None
    delay_ns: int | None = None
    throttled_ns: int = 0
    steal_ns: int = 0
    frozen_ns: int = 0
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What happened to one seat between its prompt and `wall_ns` later. `late_ns`: time that its prompt spent inside
    our own write, so that it may have arrived that much later.
    """

    limit_ns: int
    wall_ns: int
    late_ns: int = 0
    cpu_ns: int | None = None
    full_ns: int | None = None
    leader_cpu_ns: int | None = None
    delay_ns: int | None = None
    throttled_ns: int = 0
    steal_ns: int = 0
    frozen_ns: int = 0
    frozen: bool = False

    @property
    def signal(self) -> str:
        """Which counters speak for waiting: ``pressure``, ``run-delay``, both joined by a plus, or ``none``."""
        found = [
            name for name, value in (("pressure", self.full_ns), ("run-delay", self.delay_ns)) if value is not None
        ]
        return "+".join(found) or "none"

    @property
    def stolen_ns(self) -> int:
        """Time in which the bot wanted to run and could not, by no doing of its own."""
        alone_ns = 0
        if None not in (self.delay_ns, self.cpu_ns, self.leader_cpu_ns):
            others_ns = max(0, (self.cpu_ns or 0) - (self.leader_cpu_ns or 0))
            alone_ns = (self.delay_ns or 0) - others_ns
        waited_ns = max(0, max(self.full_ns or 0, alone_ns) - self.throttled_ns)
        stolen_ns = waited_ns + self.steal_ns + self.frozen_ns + self.late_ns
        return min(self.wall_ns, stolen_ns) if stolen_ns > NOISE_NS else 0

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
        leader_cpu_ns=_grown(before.leader_cpu_ns, after.leader_cpu_ns),
        delay_ns=_grown(before.delay_ns, after.delay_ns),
        throttled_ns=max(0, after.throttled_ns - before.throttled_ns),
        steal_ns=max(0, after.steal_ns - before.steal_ns),
        frozen_ns=max(0, after.frozen_ns - before.frozen_ns),
        frozen=after.frozen,
    )


def while_watching(evidence: Evidence, answered: bool, watch_factor: int = WATCH_FACTOR) -> Blame | None:
    """The verdict past the deadline, where nothing was said in time; None: watch on."""
    if evidence.frozen:
        return Blame.HOST
    if evidence.signal == "none":
        return Blame.UNKNOWN
    if answered:
        return Blame.HOST if evidence.own_ns <= evidence.limit_ns else Blame.BOT
    if evidence.own_ns > evidence.limit_ns + SETTLE_NS:
        return Blame.BOT
    past_ns = min(LONGEST_WATCH_NS, max(SHORTEST_WATCH_NS, (watch_factor - 1) * evidence.limit_ns))
    return Blame.UNKNOWN if evidence.wall_ns > evidence.limit_ns + past_ns else None


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)
