"""Own time: how much of a reply's time was the bot's own, and how much its host took from it (ruling C-03).

A bot that was kept from running is not guilty. Time is *stolen* if some part of the bot wanted to run, no part of it
ran, and the bot did not cause this itself. Own time is wall time minus stolen time. A reply is in time if and only if
its own time is within the limit, and a time bank is charged own time.

A bot that ran did not wait: whatever its waits look like, own time is at least the CPU time that its box used, divided
by the box's processors. So threads that wait behind each other, trade places or bring along old waits gain nothing.

`Evidence` holds what the counters of a bot's box showed between a prompt and a later moment. Every figure is a lower
bound that no bot can push up while any part of it runs:

* `full_ns`: the container's pressure-stall total "full" (cgroup v2's cpu.pressure; also beside a v1 engine where the
  kernel keeps a unified hierarchy). It counts exactly this, for all processes together: threads that a bot starts to
  wait for each other make none of it, since one of them is running. But the kernel weighs each interval between two
  readings by whole ticks: in an interval with less than a tick of activity (4 ms at 250 Hz) it shows nothing, and
  every prompt begins with a reading.
* `delay_ns`, `leader_cpu_ns`: what the bot's first thread waited for a CPU and used of it, to the nanosecond. While it
  waited, the bot's other threads may have run: what they used (`cpu_ns` - `leader_cpu_ns`) is taken off, so they cannot
  make any of it either. This also sees waits shorter than a tick, and serves where there is no pressure file; it does
  not see waiting children. A wait is added when it ends.
* `steal_ns`: what the hypervisor certainly took from the box's CPUs, in whole ticks; 0 where the box has no CPUs of its
  own. A bot that waited may have waited for just that, so this and the waits are not added up.
* `frozen_ns` or `frozen`: the container was stopped from outside; a bot can stop itself, but cannot freeze its control
  group.
* `referee_ns`: for how long the referee itself waited for a CPU inside the write of the prompt.
* `unseen_ns`: how long the answer may have been there before it was read, while the referee was kept from looking or
  served another seat. The bot may have waited meanwhile as well, so this and the waits are not added up.
* `earlier_ns`: the stolen time by the counters when `unseen_ns` began, if they were read then; added to it.
* `throttled_ns` is in the waits too; it is our own configuration, so it stays the bot's time.
* `read_ns`: how long after the answer the counters were read. The bot may have run meanwhile.
* `write_cpu_ns`: the CPU time used while the prompt was still being written, if that took long. All other counters
  begin after such a write, because what a bot waits for in it is its own doing.
* `processors`: how many the box may use; 0 if unknown, and then CPU time bounds nothing.

The larger of the first two counts, because they see the same waits. But a thread that starts a program takes the first
one's place and brings along all its earlier waits, and a wait may have begun before the prompt. The pressure knows
neither effect, so if there is one the delay exceeds it by no more than it may have missed.

This module is pure: a transcript keeps the evidence, and verifying it applies this rule again. When the rule changes,
it gets another number (`CLOCK`), which the transcript keeps too: what was played stays as it was judged.
"""

from collections.abc import Collection
from typing import NamedTuple

CLOCK = 2
"""The number of the present rule. Number 1, until 2026-11-28, did not know the processors and so had no least own time.
Until 2026-11-23 the pressure did not bound the delay either; such transcripts have the same number."""

WATCH_NS = 600_000_000_000
"""How long past its deadline a silent bot is watched. Its own time decides long before, unless it gets less than a
thousandth of a processor."""

MOST_AWAY_NS = 2_000_000_000
"""How long a referee may wait for a processor while it writes one prompt, and how long after an answer it may read the
counters. A longer absence says that the whole machine stood still, and nobody could check that it did."""

NOISE_NS = 500_000
"""Shorter times do not count as stolen: every wake-up costs a bot some microseconds, and some of them are its own
doing. Verdicts on answers 1 ms or more from a deadline stay right."""

WALL_CLOCK = "Wall-clock time; the league measures own time"
"""What is said wherever times are shown that no counter has corrected."""

SWAPPED_NS = 100_000_000
"""A thread cannot wait and run for longer than the time that passes. Counters that exceed it by more than can lie
between two readings belong to two threads: one that starts a program takes the first one's place, with its own
waits."""

SKEW_NS = 5_000_000
"""How much later than its stamp a reading may be. A small excess beyond this is no thread's wait and is cut off."""

MISSED_NS, MISSED_ONE_IN = 10_000_000, 64
"""How much of a wait the pressure may have missed: more than two ticks, plus this part of the time. In 5,500 replies
from which time was taken, idle and at a load of 20, it was at most 5 ms, and 16 ms in four seconds."""


SLACK_NS = 20_000_000
"""How far figures may disagree: CPU time is booked at ticks (10 ms at 100 Hz), at the beginning as at the end."""

MOST_PROCESSORS = 1024
"""More than any machine that plays has."""


def most_cpu_ns(lasted_ns: int, processors: int) -> int:
    """Return the most CPU time that so many processors, or an unknown number of them (0), can seem to have then."""
    return (lasted_ns + SLACK_NS + lasted_ns // MISSED_ONE_IN) * (processors or MOST_PROCESSORS)


class Evidence(NamedTuple):
    """The counters of one seat between its prompt and `wall_ns` later; None where this host cannot tell."""

    wall_ns: int
    cpu_ns: int | None = None
    full_ns: int | None = None
    leader_cpu_ns: int | None = None
    delay_ns: int | None = None
    throttled_ns: int = 0
    steal_ns: int = 0
    frozen_ns: int = 0
    referee_ns: int = 0
    unseen_ns: int = 0
    earlier_ns: int = 0
    frozen: bool = False
    read_ns: int = 0
    processors: int = 0
    write_cpu_ns: int = 0

    @property
    def signal(self) -> str:
        """The counters that show waiting: ``pressure``, ``run-delay``, both joined by a plus, or ``none``."""
        counters = (("pressure", self.full_ns), ("run-delay", self.delay_ns))
        return "+".join(name for name, value in counters if value is not None) or "none"

    @property
    def waited_ns(self) -> int:
        """Time in which the whole bot waited for a processor."""
        delay_ns = self._delay_alone_ns()
        if self.full_ns is not None:
            delay_ns = min(delay_ns, self.full_ns + MISSED_NS + self.wall_ns // MISSED_ONE_IN)
        return self._without_quota(delay_ns)

    def _delay_alone_ns(self) -> int:
        """Return how long the first thread waited while nothing else of the bot ran."""
        if self.delay_ns is None or self.cpu_ns is None or self.leader_cpu_ns is None:
            return 0
        leader_ns = self.delay_ns + self.leader_cpu_ns
        if leader_ns > self.wall_ns + SWAPPED_NS:
            return 0
        return min(leader_ns, self.wall_ns + SKEW_NS) - max(self.cpu_ns, self.leader_cpu_ns)

    def _without_quota(self, delay_ns: int) -> int:
        return max(0, max(self.full_ns or 0, delay_ns) - self.throttled_ns)

    @property
    def counted_ns(self) -> int:
        """Return the stolen time by the kernel's counters alone."""
        return self._counted_ns(self.waited_ns)

    @property
    def stolen_ns(self) -> int:
        """Time in which the bot wanted to run and could not, through no fault of its own."""
        return self._stolen_ns(self.waited_ns)

    def stolen_by(self, clock: int) -> Collection[int]:
        """Return what a referee may have recorded as stolen by the rule of that number."""
        if clock == CLOCK:
            return (self.stolen_ns,)
        if self.processors:  # of which that rule did not know
            return self._replace(processors=0).stolen_by(clock)
        once_ns = self._without_quota(self._delay_alone_ns())
        return (self._stolen_ns(self.waited_ns), self._stolen_ns(once_ns))

    def _counted_ns(self, waited_ns: int) -> int:
        return max(waited_ns, self.steal_ns) + self.frozen_ns

    def _stolen_ns(self, waited_ns: int) -> int:
        stolen_ns = self.referee_ns + max(self.earlier_ns + self.unseen_ns, self._counted_ns(waited_ns))
        stolen_ns = min(self.wall_ns - self.ran_ns, stolen_ns)
        return stolen_ns if stolen_ns > NOISE_NS else 0

    @property
    def ran_ns(self) -> int:
        """The least time for which something of the bot ran before its answer. It may have gone on after an answer that
        was not seen or read at once, and its CPU time may include what the hypervisor took.
        """
        if self.cpu_ns is None or not self.processors:
            return 0
        after_ns = self.read_ns + self.unseen_ns + self.steal_ns
        return min(self.wall_ns, max(0, (self.cpu_ns + self.write_cpu_ns) // self.processors - after_ns))

    @property
    def own_ns(self) -> int:
        """Wall time that was the bot's own."""
        return self.wall_ns - self.stolen_ns

    def contradiction(self, clock: int = CLOCK) -> str | None:
        """Say why no machine can have measured this, or no referee under that rule recorded it; None if one can."""
        lasted_ns = self.wall_ns + self.read_ns
        most_ns = most_cpu_ns(lasted_ns, 1)
        used_ns, full_ns = (self.cpu_ns or 0) + self.write_cpu_ns, self.full_ns or 0
        if min(value for value in self if value is not None) < 0:
            return "a time is negative"
        if self.referee_ns + self.unseen_ns > lasted_ns + NOISE_NS:
            return "the referee was away for longer than all of it lasted"
        if used_ns > most_cpu_ns(lasted_ns, self.processors):
            return "it used more CPU time than its processors have"
        if clock != CLOCK:  # it did not know how late its counters were read
            return None
        if max(self.referee_ns, self.read_ns) > MOST_AWAY_NS:
            return "the referee was away for longer than it accepts"
        if self.cpu_ns is not None and not 1 <= self.processors <= MOST_PROCESSORS:
            return "nothing says how many processors it could use"
        if max(full_ns, self.steal_ns, self.frozen_ns, self.earlier_ns) > most_ns:
            return "the host took more time than passed"
        if self.processors == 1 and used_ns + full_ns > most_ns:
            return "it used and waited for its one processor for longer than that existed"
        return None

    def as_dict(self) -> dict[str, object]:
        """Return the evidence for the ledger of attempts and for the author."""
        made = {"signal": self.signal, "waited_ns": self.waited_ns}
        return {**self._asdict(), **made, "stolen_ns": self.stolen_ns, "own_ns": self.own_ns}
