"""Attributes a missed deadline to the bot or to this host.

`engine.own_time` defines own time and the counters that show taken time. This module decides about a seat that is
silent past its deadline. At the deadline itself a starved bot's own time is always below the limit, guilty or not, and
an unfinished wait is not counted yet. So the referee keeps *watching*. If the seat answers, its own time decides. If
its own time exceeds the limit by `SETTLE_NS`, not counting a wait that may last, the bot is to blame. A watch that
ends without either, after minutes, shows that this machine gives a bot no time at all: the machine has failed.
"""

from enum import StrEnum
from typing import NamedTuple

from deadheat.engine.own_time import WATCH_NS, Evidence

SETTLE_NS = 10_000_000
"""How far a silent bot's own time must exceed its limit: two ticks at 250 Hz, so that each of its waits in progress at
the deadline is over and counted, or long enough to be seen."""


class Blame(StrEnum):
    """The party to blame for something."""

    BOT = "bot"
    HOST = "host"
    UNKNOWN = "unknown"  # never counts against a bot


class Counters(NamedTuple):
    """Readings of one container at one moment, counted from some earlier origin; None where this host cannot tell."""

    cpu_ns: int | None = None
    full_ns: int | None = None
    leader_cpu_ns: int | None = None
    delay_ns: int | None = None
    throttled_ns: int = 0
    steal_ns: int = 0
    frozen_ns: int = 0
    frozen: bool = False
    processors: int = 0


STEAL_TICK_NS = 10_000_000
"""The hypervisor's share is reported in ticks (/proc/stat). Only those beyond the first were certainly taken."""

MAX_STEAL_SHARE = 0.02
"""The share of a machine's CPU time taken by the hypervisor above which it gets a remark."""


def between(before: Counters, after: Counters, wall_ns: int) -> Evidence:
    """Return what the readings at the ends of an interval show of it; a referee adds what it knows of itself."""
    # A first thread that is gone from a container that is still counted has ended itself: it no longer waits.
    if before.delay_ns is not None and after.delay_ns is None and after.cpu_ns is not None:
        after = after._replace(delay_ns=before.delay_ns, leader_cpu_ns=before.leader_cpu_ns)
    return Evidence(
        wall_ns=wall_ns,
        cpu_ns=_grown(before.cpu_ns, after.cpu_ns),
        full_ns=_grown(before.full_ns, after.full_ns),
        leader_cpu_ns=_grown(before.leader_cpu_ns, after.leader_cpu_ns),
        delay_ns=_grown(before.delay_ns, after.delay_ns),
        throttled_ns=max(0, after.throttled_ns - before.throttled_ns),
        steal_ns=max(0, after.steal_ns - before.steal_ns - STEAL_TICK_NS),
        frozen_ns=max(0, after.frozen_ns - before.frozen_ns),
        frozen=after.frozen,
        processors=after.processors,
    )


def while_silent(evidence: Evidence, limit_ns: int, watch_ns: int = WATCH_NS, waiting_ns: int = 0) -> Blame | None:
    """Return the verdict past the deadline on a seat that is still silent; None: keep watching, for at most `watch_ns`
    past the deadline. `waiting_ns` is the longest that an unfinished wait, which no counter shows yet, may have lasted.
    """
    if evidence.frozen or evidence.signal == "none":
        return Blame.UNKNOWN
    if evidence.own_ns - waiting_ns > limit_ns + SETTLE_NS:
        return Blame.BOT
    return Blame.HOST if evidence.wall_ns > limit_ns + watch_ns else None


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)
