"""Judges a machine by matches that trusted ones play again, twice, with the same dice, programs and seats.

Theory of operation
-------------------
Programs that search by the clock do not answer alike, so no single difference shows a lie. But two kinds of
coins have known chances on an honest machine, whoever plays and however chance decides the match, if only no
program's odds to do well differ between two machines by more than the factor K:

* *Odd*: if exactly one of the three playings ends otherwise, it is the one in question with a chance of at
  most K / (K + 2). This shows any lie where programs answer much alike.
* *Favoured*: if a version did better or worse than in the second playing, then either with at most K / (K +
  1). This shows a cheat with a favourite, or a victim, whatever else chance does; and, for the player that
  is rated higher, one without.

Machines differ in speed, so K is 2: 120 Elo, more than half the speed costs a program that searches. There
is a *side* for all matches, one for upsets, and for each version one of its odd playings, of its better and
of its worse ones. The evidence is the likelihood of a side's coins under a cheat's chances, divided by that
under the most that is honest, averaged over some such chances and all sides, with weights that sum to 1. It
starts from 1, and on an honest machine it never grows on average. So, by Ville's inequality, it *ever*
reaches 1 / ALPHA on at most one of 1,000 such machines, however long they play and whenever one looks.

A time-out decides a match and depends on speed more than K allows: a program that needs nearly all of its
limit fails on any slower machine. So matches with one are no such coins. They have a side of their own, and
a machine against which it speaks is *late*: slow or lying, it plays nothing that counts.

Who changes few matches, of programs so equally strong that this looks like a faster or slower machine, is
not found; what that can shift is what honest machines shift.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deadheat.engine.core import Fault, Result, Seat
from deadheat.league.states import Found

K = 2.0
"""The largest factor between a program's odds on two honest machines."""

ODD, FAVOURED = K / (K + 2), K / (K + 1)
"""The most that is honest, for the two kinds of coins."""

ALPHA = 1e-3
"""The share of honest machines that are ever called cheats, or late, at most."""

CHANCES = (0.75, 0.85, 0.97)
"""How often a cheat's coins may show the lie."""

SHARE, DOUBT = 0.1, 3.0
"""The share of an untrusted machine's matches that is played again: all, while the evidence of a side that
concerns them is above `DOUBT`."""

ALL, UPSETS, LATE = "odd", "upsets", "late"
KINDS = ("odd", "better", "worse")
"""The sides that are no version's, and those of each: ``odd 5`` is one of version 5. A coin for better is one
against worse."""

Coins = Mapping[str, bool]
"""By side, whether a match that was played again speaks against the machine in question."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How much likelier a machine's coins are if it lies, or is late, than if it is honest; and by side."""

    lies: float
    late: float
    sides: Mapping[str, float]

    @property
    def verdict(self) -> Found | None:
        """The verdict, which callers keep: later coins acquit no machine."""
        if self.lies >= 1 / ALPHA:
            return Found.LIES
        return Found.LATE if self.late >= 1 / ALPHA else None

    @property
    def honest(self) -> float:
        """The share of honest machines that ever look as bad, at most: 1 is the best."""
        return min(1.0, 1 / max(self.lies, self.late))

    def share(self, versions: Iterable[int]) -> float:
        """Return the share of its next matches between these versions that is to be played again."""
        sides = [ALL, UPSETS, LATE, *(f"{kind} {version}" for version in versions for kind in KINDS)]
        return 1.0 if any(self.sides.get(side, 0.0) > DOUBT for side in sides) else SHARE


def coins(versions: Sequence[int], played: Result, again: Sequence[Result], favourite: Seat | None) -> dict[str, bool]:
    """Return a match's coins. `versions`: by seat. `played`: the result of the machine in question; `again`:
    both of trusted ones. `favourite`: the seat of the player that is rated highest.
    """
    first, second = again
    late, late_again = _late(played), _late(first)
    if late or late_again or _late(second):
        return {} if late == late_again else {LATE: len(late - late_again) > len(late_again - late)}
    seats = range(len(versions))
    better = {seat: played.ranks[seat] < first.ranks[seat] for seat in seats if played.ranks[seat] != first.ranks[seat]}
    thrown = {f"better {versions[seat]}": won for seat, won in better.items()}
    if favourite in better:
        thrown[UPSETS] = not better[favourite]
    if len({played.ranks, first.ranks, second.ranks}) == 2:
        odd = first.ranks == second.ranks
        thrown |= {ALL: odd, **{f"odd {version}": odd for version in versions}}
    return thrown


def weigh(thrown: Iterable[Coins]) -> Evidence:
    """Return the evidence of all coins of a machine, its first match first: the first versions weigh most."""
    counts: dict[str, list[int]] = {}
    for each in thrown:
        for side, against in each.items():
            counts.setdefault(side, [0, 0])[against] += 1
    sides = {side: _ratio(count, ODD if side.startswith(ALL) else FAVOURED) for side, count in counts.items()}
    for side in [side for side in counts if side.startswith("better")]:
        sides[side.replace("better", "worse")] = _ratio(counts[side][::-1], FAVOURED)
    versions = list(dict.fromkeys(side.partition(" ")[2] for side in counts if " " in side))
    lies = (sides.get(ALL, 1.0) + sides.get(UPSETS, 1.0)) / 4
    for place, version in enumerate(versions, 1):
        mean = math.fsum(sides.get(f"{kind} {version}", 1.0) for kind in KINDS) / len(KINDS)
        lies += mean / (2 * place * (place + 1))
    lies += 1 / (2 * (len(versions) + 1))  # for versions that are still to come
    return Evidence(lies, sides.get(LATE, 1.0), sides)


def _late(result: Result) -> set[Seat]:
    return {seat for seat, fault in result.faults.items() if fault is Fault.TIMEOUT}


def _ratio(count: Sequence[int], honest: float) -> float:
    """Return the likelihood of coins under a cheat's chances over that under the most that is honest."""
    excuse, against = count
    logs = [against * math.log(p / honest) + excuse * math.log((1 - p) / (1 - honest)) for p in CHANCES]
    return math.fsum(math.exp(min(log, 700.0)) for log in logs) / len(CHANCES)
