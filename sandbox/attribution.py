"""Whose fault is a missed deadline: the bot's, or this host's?

Theory of operation
-------------------
`engine.own_time` says what own time is and which counters speak for time that was taken. Here is what follows for a
seat that is silent past its deadline. At the deadline itself a starved bot's own time is always below the limit,
guilty or not, and a wait that is not over is not counted yet. So the referee goes on *watching* until the seat
answers, whose own time then decides, or until its own time runs past the limit by `SETTLE_NS`: that is the bot's
doing. A watch that has come to `WATCH_FACTOR` times the limit says that this machine gives a bot next to nothing: the
machine has failed, and the bot is judged elsewhere.

Pure: nothing here reads a clock or a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from engine.own_time import Evidence

SETTLE_NS = 10_000_000
"""How far a silent bot's own time must be over its limit: two ticks at 250 Hz, so that every wait of its that was
going on at the deadline is over and counted, or has grown long enough to be seen."""

WATCH_FACTOR = 8
"""Wall time over limit at which the watch ends: a bot that gets 15 % of a CPU is still convicted of an endless loop,
also in a time bank of ten seconds."""

SHORTEST_WATCH_NS = 200_000_000
"""But not before this much past the deadline: what is left of a time bank may be next to nothing."""


class Blame(StrEnum):
    """Whose doing something is."""

    BOT = "bot"
    HOST = "host"
    UNKNOWN = "unknown"  # nobody is convicted on it


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


STEAL_TICK_NS = 10_000_000
"""What the hypervisor takes is told in ticks of /proc/stat, by CPU: where one more has been counted, next to nothing
need have been taken since. Only the ticks beyond the first one certainly were."""


def between(
    before: Counters, after: Counters, wall_ns: int, referee_ns: int = 0, unseen_ns: int = 0, earlier_ns: int = 0
) -> Evidence:
    """The evidence of an interval, from the readings at its ends.

    A first thread that was there at the beginning and is gone from a container that is still counted has ended by its
    own doing: its waits are none, and not unknown.
    """
    if before.delay_ns is not None and after.delay_ns is None and after.cpu_ns is not None:
        after = replace(after, delay_ns=before.delay_ns, leader_cpu_ns=before.leader_cpu_ns)
    return Evidence(
        wall_ns=wall_ns,
        cpu_ns=_grown(before.cpu_ns, after.cpu_ns),
        full_ns=_grown(before.full_ns, after.full_ns),
        leader_cpu_ns=_grown(before.leader_cpu_ns, after.leader_cpu_ns),
        delay_ns=_grown(before.delay_ns, after.delay_ns),
        throttled_ns=max(0, after.throttled_ns - before.throttled_ns),
        steal_ns=max(0, after.steal_ns - before.steal_ns - STEAL_TICK_NS),
        frozen_ns=max(0, after.frozen_ns - before.frozen_ns),
        referee_ns=referee_ns,
        unseen_ns=unseen_ns,
        earlier_ns=earlier_ns,
        frozen=after.frozen,
    )


def while_silent(evidence: Evidence, limit_ns: int, watch_factor: int = WATCH_FACTOR) -> Blame | None:
    """The verdict past the deadline on a seat that still says nothing; None: watch on."""
    if evidence.frozen or evidence.signal == "none":
        return Blame.UNKNOWN
    if evidence.own_ns > limit_ns + SETTLE_NS:
        return Blame.BOT
    longest_ns = limit_ns + max(SHORTEST_WATCH_NS, (watch_factor - 1) * limit_ns)
    return Blame.HOST if evidence.wall_ns > longest_ns else None


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)
