"""Plackett and Luce's model as a second opinion on tables of three and more: a ranking is a series of choices.

The first place is chosen among all with probability proportional to exp(strength), the second among the rest, and so
on (Luce 1959, Plackett 1975). Equal ranks leave open in which order they were chosen; they count as the mean of the
log likelihoods of all orders, which for two players is half a win each. Where a season ranks wins, the series ends
with the first place. Priors are those of the first column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import csr_array

from league.ratings.arrays import Ints, Matrix, Vector
from league.ratings.log import Tables
from league.ratings.newton import maximum
from league.ratings.prior import Beliefs
from league.states import Ranks

MOST_SEATS = 8
"""A tie of k has 2^k sets of players to choose from; no game of the house has more than six seats."""


@dataclass(frozen=True, slots=True, eq=False)
class _Choices:
    """Choices among sets of the same size: the log likelihood of each is -weight x log(sum over the set of exp(s))."""

    sets: Ints  # (choices, size): players
    weights: Vector  # (choices,)


def plackett_luce(parts: Sequence[Tables], ranks: Ranks, beliefs: Beliefs, start: Vector) -> Vector | None:
    """The most likely strengths; None where every table has two seats, for there both models are the same, or where
    some have more than `MOST_SEATS`.
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
        _Choices(np.concatenate([one.sets for one in same]), np.concatenate([one.weights for one in same]))
        for _, same in sorted(by_size.items())
    ]
    return maximum(lambda strengths: _derivatives(strengths, chosen, choices, beliefs), start)


def _derivatives(
    strengths: Vector, chosen: Vector, choices: Sequence[_Choices], beliefs: Beliefs
) -> tuple[Vector, Matrix]:
    """The gradient, and the upper triangle of the negative Hessian, of the log posterior."""
    size = len(strengths)
    gradient = beliefs.gradient(strengths) + chosen
    diagonal = np.zeros(size)
    hessian: Matrix = np.zeros((size, size))
    strong = np.exp(strengths - strengths.max())
    for some in choices:
        shares = strong[some.sets]
        shares /= shares.sum(axis=1, keepdims=True)
        diagonal += np.bincount(some.sets.ravel(), (some.weights[:, None] * shares).ravel(), minlength=size)
        rooted = (np.sqrt(some.weights)[:, None] * shares).ravel()
        starts = np.arange(len(some.sets) + 1) * some.sets.shape[1]
        rows = csr_array((rooted, some.sets.ravel(), starts), shape=(len(some.sets), size))
        hessian -= (rows.T @ rows).toarray()
    np.einsum("ii->i", hessian)[:] += diagonal
    beliefs.add_precision(hessian)
    if not beliefs.anchored:
        hessian += 1.0
    return gradient - diagonal, hessian


def _patterns(tables: Tables) -> Iterator[tuple[Ints, Ints, Ints]]:
    """The distinct rankings (which places are shared); for each the players, best first, and how often they occur."""
    order = np.argsort(tables.ranks, axis=1, kind="stable")
    players = np.take_along_axis(tables.players, order, axis=1)
    patterns, which = np.unique(np.sort(tables.ranks, axis=1), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == number)
        yield pattern, players[rows], tables.counts[rows]


def _tied(pattern: Ints, ranks: Ranks) -> Iterator[tuple[list[int], list[int]]]:
    """Columns that share a place, and those behind them, as far as they are ranked."""
    for rank in np.unique(pattern) if ranks is Ranks.PLACEMENT else [0]:
        yield np.flatnonzero(pattern == rank).tolist(), np.flatnonzero(pattern > rank).tolist()


def _chosen(pattern: Ints, ranks: Ranks) -> Iterator[tuple[list[int], float]]:
    """Columns, and how often each was chosen; where one is left, there is no choice any more."""
    for tied, behind in _tied(pattern, ranks):
        yield tied, 1.0 if behind else 1 - 1 / len(tied)


def _sets(pattern: Ints, ranks: Ranks) -> Iterator[tuple[list[int], float]]:
    """Columns among which a choice was made, and in what share of the possible orders."""
    for tied, behind in _tied(pattern, ranks):
        for left in range(len(tied), 0, -1):
            for some in combinations(tied, left):
                if left + len(behind) > 1:
                    yield [*some, *behind], 1 / comb(len(tied), left)
