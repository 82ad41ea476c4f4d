"""Machines in simulation, honest and lying, whose matches are played again by a trusted one.

Programs search by the clock: on a slower machine each is weaker by its own amount. In a share `same` of the matches the
dice decide, so both machines end alike; with `same` = 1 programs answer alike always.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from deadheat.engine.core import Fault, Result
from deadheat.league.checking.duplicates import Coins, Evidence, coins, weigh

VERSIONS = 20
STRONG = {version: 40.0 * version for version in range(VERSIONS)}
MATCHES = 2  # of a series


@dataclass(frozen=True)
class League:
    """A share of matches in which the dice decide, and the most Elo by which a machine weakens a program."""

    same: float
    slower_elo: float = 0.0
    late: float = 0.0  # share of matches in which a program fails by time on either machine


Lie = Callable[[tuple[int, int], Result], Result | None]
"""What a liar states instead of a true result, or None."""


def favours(version: int) -> Lie:
    def lie(seats: tuple[int, int], true: Result) -> Result | None:
        return _won(seats.index(version)) if version in seats else None

    return lie


def upsets(seats: tuple[int, int], true: Result) -> Result:
    return _won(1 - true.ranks.index(1))


def times_out(version: int) -> Lie:
    def lie(seats: tuple[int, int], true: Result) -> Result | None:
        return _won(1 - seats.index(version), Fault.TIMEOUT) if version in seats else None

    return lie


def _won(seat: int, fault: Fault | None = None) -> Result:
    return Result((1, 2) if seat == 0 else (2, 1), None, {} if fault is None else {1 - seat: fault})


def play(
    random: Random, league: League, series: int, lie: Lie | None = None, rate: float = 0.0
) -> tuple[int, Evidence, list[Coins]]:
    """Play at a machine until it is found or has played so many series. Return the matches that took, the evidence at
    the end, and the coins.
    """
    slower = {version: random.uniform(0, league.slower_elo) for version in STRONG}
    thrown: list[Coins] = []
    now = weigh(thrown)
    for match in range(1, series * MATCHES + 1):
        first, second = random.sample(range(VERSIONS), 2)
        seats = (first, second)
        ahead = STRONG[first] - STRONG[second]
        alike = random.random() < league.same
        trusted = _result(random, league, ahead)
        there = trusted if alike else _result(random, league, ahead - slower[first] + slower[second])
        if lie is not None and random.random() < rate:
            there = lie(seats, there) or there
        if random.random() < now.share(seats):
            more = trusted if alike else _result(random, league, ahead)
            found = coins(seats, there, [trusted, more], int(ahead < 0))
            if found:
                thrown.append(found)
                now = weigh(thrown)
        if now.verdict is not None:
            return match, now, thrown
    return series * MATCHES, now, thrown


def _result(random: Random, league: League, ahead: float) -> Result:
    winner = int(random.random() > 1 / (1 + 10 ** (-ahead / 400)))
    return _won(winner, Fault.TIMEOUT if random.random() < league.late else None)
