"""Plackett and Luce's model as a second opinion on tables of three or more: a ranking is a series of choices.

The first place is chosen among all with probability proportional to exp(strength), the second among the rest, and so on
(Luce 1959, Plackett 1975). Equal ranks leave open in which order they were chosen; they count as the mean of the log
likelihoods of all orders, which for two players is half a win each. Where a season ranks wins, the series ends with the
first place. The priors are those of the main ratings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from deadheat.league.ratings.linear import Ints, Matrix, Vector, maximum, outer_products
from deadheat.league.ratings.log import Tables
from deadheat.league.ratings.prior import Beliefs
from deadheat.league.states import Ranks

MOST_SEATS = 8
"""The most seats: a tie of k has 2^k sets of players to choose from. None of our games has more than six seats."""


@dataclass(frozen=True, slots=True, eq=False)
class _Choices:
    """Choices from sets of the same size. The log likelihood of each is -weight x log(sum over the set of exp(s))."""

    sets: Ints  # (choices, size): players
    weights: Vector  # (choices,)

    def shares(self, strengths: Vector) -> Matrix:
        """Return the probability of choosing each player, (choices, size)."""
        strong = np.exp(strengths - strengths.max())[self.sets]
        return np.asarray(strong / strong.sum(axis=1, keepdims=True), np.float64)


def plackett_luce(parts: Sequence[Tables], ranks: Ranks, beliefs: Beliefs, start: Vector) -> Vector | None:
    """Return the most likely strengths. Return None if every table has two seats, because both models are then the
    same, or if a table has more than `MOST_SEATS`.
    """
    seats = {tables.seats for tables in parts}
    if not seats or max(seats) == 2 or max(seats) > MOST_SEATS:
        return None
    chosen = np.zeros(len(start))
    by_size: dict[int, list[_Choices]] = {}
    for tables in parts:
        for pattern, players, counts in _patterns(tables):
            for columns, weight in _chosen(pattern, ranks):
                weights = np.repeat(counts * weight, len(columns))
                chosen += np.bincount(players[:, columns].ravel(), weights, minlength=len(start))
            for columns, weight in _sets(pattern, ranks):
                weights = (counts * weight).astype(np.float64)
                by_size.setdefault(len(columns), []).append(_Choices(players[:, columns], weights))
    choices = [
        _Choices(np.concatenate([group.sets for group in same]), np.concatenate([group.weights for group in same]))
        for _, same in sorted(by_size.items())
    ]
    return maximum(_Series(chosen, choices, beliefs), start)


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """The log posterior of strengths: how often each player was chosen and from which sets, and the prior."""

    chosen: Vector  # (players,)
    choices: Sequence[_Choices]
    beliefs: Beliefs

    def gradient(self, strengths: Vector) -> Vector:
        """Return the gradient, as `league.ratings.linear` requires it."""
        return self.beliefs.gradient(strengths) + self.chosen - self._expected(strengths)

    def curvature(self, strengths: Vector) -> Matrix:
        """Return the curvature, as `league.ratings.linear` requires it."""
        matrix: Matrix = np.diag(self._expected(strengths))
        for some in self.choices:
            rooted = np.sqrt(some.weights)[:, None] * some.shares(strengths)
            matrix -= outer_products(some.sets, rooted, len(strengths))
        self.beliefs.add_precision(matrix)
        return matrix

    def _expected(self, strengths: Vector) -> Vector:
        """Return the expected number of times that each player is chosen, (players,)."""
        expected = np.zeros(len(strengths))
        for some in self.choices:
            weighted = some.weights[:, None] * some.shares(strengths)
            expected += np.bincount(some.sets.ravel(), weighted.ravel(), minlength=len(strengths))
        return expected


def _patterns(tables: Tables) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield each distinct ranking (as its shared places), with the players of its tables, best first, and how often
    each table occurs.
    """
    order = np.argsort(tables.ranks, axis=1, kind="stable")
    players = np.take_along_axis(tables.players, order, axis=1)
    patterns, which = np.unique(np.sort(tables.ranks, axis=1), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == number)
        yield pattern, players[rows], tables.counts[rows]


def _tied(pattern: Ints, ranks: Ranks) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the columns that share a place, with the columns behind them, as far as they are ranked."""
    for rank in np.unique(pattern) if ranks is Ranks.PLACEMENT else [0]:
        yield np.flatnonzero(pattern == rank).tolist(), np.flatnonzero(pattern > rank).tolist()


def _chosen(pattern: Ints, ranks: Ranks) -> Iterator[tuple[list[int], float]]:
    """Yield columns with how often each was chosen; the last one left is not a choice."""
    for tied, behind in _tied(pattern, ranks):
        yield tied, 1.0 if behind else 1 - 1 / len(tied)


def _sets(pattern: Ints, ranks: Ranks) -> Iterator[tuple[list[int], float]]:
    """Yield the columns among which a choice was made, with its share of the possible orders."""
    for tied, behind in _tied(pattern, ranks):
        for left in range(len(tied), 0, -1):
            for some in combinations(tied, left):
                if left + len(behind) > 1:
                    yield [*some, *behind], 1 / comb(len(tied), left)
