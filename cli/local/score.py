"""The running count over matches: wins, shares with their uncertainty, points, faults.

A bot's *share* of a match is the part of its opponents that it beat, a tie counting half; between two bots it is 1, 1/2
or 0. Its interval is Wilson's, which stays within 0 to 1 and is honest after few matches, widened or narrowed by the
observed spread: draws and matches of many seats vary less than wins and losses alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from deadheat.engine.core import Fault, Result, Seat
from deadheat.engine.figures import wilson
from deadheat.engine.transcript import Transcript

# As in league.ratings, whose numpy takes longer to import than a match takes to play.
ELO_PER_NAT = 400 / math.log(10)

VARIANCE_PRIOR = 0.5
"""A prior added to the observed and the greatest possible spread: two matches, one of them won. Without it, the first
two draws would count as certainty."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(slots=True)
class _Sum:
    total: float = 0.0
    squares: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.squares += value * value
        self.count += 1

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass
class Score:
    """The running score. Matches in which every seat failed have no winner and count for nobody's share. Matches in
    which a recorded bot failed do not count either, because its lines no longer fitted.
    """

    seats: int
    played: int = 0
    abandoned: int = 0
    void_attempts: int = 0
    firsts: list[int] = field(default_factory=list)
    draws: int = 0
    unrated: int = 0
    outgrown: int = 0
    """Matches in which a recorded bot failed."""
    recorded: Collection[Seat] = ()
    """The seats of recorded bots."""
    faults: Counter[tuple[Seat, Fault, str]] = field(default_factory=Counter)  # keyed with the prompt's command
    _shares: list[_Sum] = field(default_factory=list)
    _points: list[_Sum] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.firsts = [0] * self.seats
        self._shares = [_Sum() for _ in range(self.seats)]
        self._points = [_Sum() for _ in range(self.seats)]

    def add(self, transcript: Transcript | None, void_attempts: int) -> None:
        """Count one match, or None if no attempt at it could be judged."""
        self.void_attempts += void_attempts
        if transcript is None:
            self.abandoned += 1
            return
        self.played += 1
        result = transcript.result
        for seat, fault in result.faults.items():
            prompt = transcript.last_prompt(seat)
            self.faults[seat, fault, prompt.message.command if prompt else ""] += 1
        for seat, points in enumerate(result.points or ()):
            self._points[seat].add(float(points))
        if any(seat in result.faults for seat in self.recorded):
            self.outgrown += 1
        elif result.rated:
            self._rate(result)
        else:
            self.unrated += 1

    def _rate(self, result: Result) -> None:
        winners = [seat for seat, rank in enumerate(result.ranks) if rank == 1]
        if len(winners) == 1:
            self.firsts[winners[0]] += 1
        else:
            self.draws += 1
        for seat, rank in enumerate(result.ranks):
            behind = sum(1.0 if rank < other else 0.5 if rank == other else 0.0 for other in result.ranks)
            self._shares[seat].add((behind - 0.5) / (self.seats - 1))  # a seat ties with itself

    def share(self, seat: Seat) -> Estimate | None:
        """Return a seat's share, or None while nothing is decided."""
        sums = self._shares[seat]
        n, mean = sums.count, sums.mean
        if mean is None:
            return None
        seen = max(0.0, sums.squares - n * mean * mean)
        possible = n * mean * (1 - mean)
        # The number of plain wins and losses that would carry as much information.
        worth = n * (possible + VARIANCE_PRIOR) / (seen + VARIANCE_PRIOR)
        return Estimate(mean, *wilson(mean, worth))

    def mean_points(self, seat: Seat) -> float | None:
        return self._points[seat].mean

    def faults_of(self, seat: Seat) -> Counter[Fault]:
        found: Counter[Fault] = Counter()
        for (who, fault, _), count in self.faults.items():
            if who == seat:
                found[fault] += count
        return found

    def summary(self, bots: Sequence[str]) -> dict[str, Any]:
        first = self.share(0)
        by_elo = [elo(value) for value in (first.share, first.low, first.high)] if self.seats == 2 and first else []
        shown = [None if value is None else round(value, 1) for value in by_elo]
        return {
            "matches": self.played,
            "abandoned": self.abandoned,
            "void_attempts": self.void_attempts,
            "draws": self.draws,
            "unrated": self.unrated,
            "outgrown": self.outgrown,
            "elo": {"difference": shown[0], "interval_95": shown[1:]} if shown else None,
            "bots": [self._bot_summary(seat, name) for seat, name in enumerate(bots)],
        }

    def _bot_summary(self, seat: Seat, name: str) -> dict[str, Any]:
        share, points = self.share(seat), self.mean_points(seat)
        return {
            "bot": name,
            "wins": self.firsts[seat],
            "faults": {fault.value: count for fault, count in sorted(self.faults_of(seat).items())},
            "share": round(share.share, 4) if share else None,
            "share_95": [round(share.low, 4), round(share.high, 4)] if share else None,
            "mean_points": None if points is None else round(points, 3),
        }


def elo(share: float) -> float | None:
    """Return the difference in Elo at which a bot is expected to score this share; None if it is unbounded."""
    return ELO_PER_NAT * math.log(share / (1 - share)) if 0 < share < 1 else None
