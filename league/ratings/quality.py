"""Whether one number per player can describe the results at all, and how much each seat is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deadheat.league.ratings.bradley_terry import Pairs, Posterior, comparisons, expected_results
from deadheat.league.ratings.errors import dispersion, overdispersion
from deadheat.league.ratings.linear import Cholesky, Ints, Matrix, NoMaximum, Vector, maximum, outer_products
from deadheat.league.ratings.log import Tables
from deadheat.league.ratings.prior import ELO_PER_NAT, Beliefs
from deadheat.league.states import Ranks

PAIR_TABLE_PLAYERS = 30
"""The most players in a table of pairs, the first ones: 900 numbers twice. All of 2,000 bots would be four million."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A measure of how well the ratings describe the results of the pairs.

    `chi2_per_dof`: how far the pairs' results are from the expected ones, in units of chance: near 1 if the model is
    right, well above 1 if strength is not one number (some bots do well against certain others). Pearson's statistic
    over its degrees of freedom (pairs - players + fields, as many as `degrees`), with the variance of single results as
    it is (`dispersion`: 1 without draws, less with them); None without a degree of freedom.

    `cyclic_share`: the share of cyclic ones (like rock, paper and scissors) among the `triads`, three players of whom
    each pair has a winner on balance: 0 in a strict order, a quarter if every pair tosses a coin, None without a triad.
    """

    chi2_per_dof: float | None
    degrees: int
    dispersion: float
    cyclic_share: float | None
    triads: int

    @classmethod
    def of(cls, posterior: Posterior, strengths: Vector) -> Self:
        """Measure the fit over all comparisons."""
        pairs, expected = posterior.pairs, posterior.expected(strengths)
        single = dispersion(pairs, expected)
        played = np.unique(np.concatenate([pairs.first, pairs.second]))
        fields = len(np.unique(posterior.fields()[played]))
        degrees = len(pairs.games) - len(played) + fields
        misses = (pairs.wins - pairs.games * expected) ** 2 / (pairs.games * expected * (1 - expected))
        cyclic, triads = _cyclic_triads(pairs, posterior.players)
        chi2_per_dof = float(np.sum(misses)) / single / degrees if degrees > 0 else None
        return cls(chi2_per_dof, max(degrees, 0), single, cyclic / triads if triads else None, triads)


def _cyclic_triads(pairs: Pairs, players: int) -> tuple[int, int]:
    """Return the numbers of cyclic triads and of all, by matrix products (after Kendall and Babington Smith 1940)."""
    beats = np.zeros((players, players), np.float32)  # counts stay far below 2^24, up to which they are exact
    ahead, behind = 2 * pairs.wins > pairs.games, 2 * pairs.wins < pairs.games
    beats[pairs.first[ahead], pairs.second[ahead]] = 1
    beats[pairs.second[behind], pairs.first[behind]] = 1
    either = beats + beats.T
    cycles = np.sum((beats @ beats) * beats.T, dtype=np.float64) / 3
    triads = np.sum((either @ either) * either, dtype=np.float64) / 6
    return round(float(cycles)), round(float(triads))


@dataclass(frozen=True, slots=True)
class PairTable:
    """Results between some players: of `games[i][j]` comparisons, i won `points[i][j]`, where draws are halves."""

    games: list[list[int]]
    points: list[list[float]]

    @classmethod
    def of(cls, pairs: Pairs, members: Sequence[int]) -> Self:
        """Return the results between the players with these numbers, in that order."""
        order: Ints = np.full(1 + max([*members, *pairs.second.tolist(), 0]), -1, np.int64)
        order[list(members)] = np.arange(len(members))
        row, column = order[pairs.first], order[pairs.second]
        inside = (row >= 0) & (column >= 0)
        row, column = row[inside], column[inside]
        games, points = np.zeros((2, len(members), len(members)))
        games[row, column] = games[column, row] = pairs.games[inside]
        points[row, column] = pairs.wins[inside]
        points[column, row] = (pairs.games - pairs.wins)[inside]
        return cls(games.astype(np.int64).tolist(), points.tolist())


# The value of a seat: the model with one more strength for each seat, added to its player's.
# Strengths and seats are fitted together, so a seat gets no credit for the players who happened to sit in it. Seats of
# tables of different sizes are distinct: the second of two is not the second of six.

SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
"""The signs of a comparison's four strengths: a player, the other player, the first one's seat, the other's seat."""

SEAT_PRECISION = (ELO_PER_NAT / 350) ** 2
"""The prior of a seat's value, so that three games won by the first seat do not make it infinite."""


@dataclass(frozen=True, slots=True)
class SeatEffect:
    """The Elo that each seat adds, by seat, at a table with that number of `seats`; the sum is zero. `se_elo` are
    standard errors.
    """

    seats: int
    tables: int
    elo: tuple[float, ...]
    se_elo: tuple[float, ...]


def seat_effects(parts: Sequence[Tables], ranks: Ranks, beliefs: Beliefs, strengths: Vector) -> tuple[SeatEffect, ...]:
    """Return the seats' effects for each table size, omitted where the games do not determine strengths and seats."""
    values = []
    for tables in parts:
        model = _Seated.of(tables, ranks, beliefs)
        try:
            fitted = maximum(model, np.concatenate([strengths, np.zeros(tables.seats)]))
        except NoMaximum:
            continue
        factor = overdispersion(tables, strengths, ranks)
        worth = ELO_PER_NAT * fitted[-tables.seats :]
        errors = ELO_PER_NAT * np.sqrt(factor * model.seat_variances(fitted))
        values.append(SeatEffect(tables.seats, int(tables.counts.sum()), tuple(worth.tolist()), tuple(errors.tolist())))
    return tuple(values)


@dataclass(frozen=True, slots=True, eq=False)
class _Seated:
    """The log posterior of the players' strengths, followed by those of the seats. A comparison is a sum of strengths:
    a player and its seat, less another player and its seat.
    """

    seats: int
    terms: Ints  # (comparisons, 4): the indices of the strengths that `SIGNS` combines
    results: Vector
    counts: Vector
    beliefs: Beliefs

    @classmethod
    def of(cls, tables: Tables, ranks: Ranks, beliefs: Beliefs) -> "_Seated":
        """Collect the comparisons of all tables of one size."""
        players = len(beliefs.own)
        columns, results, counts = [], [], []
        for pair in comparisons(tables, ranks):
            seated = tables.players[pair.rows][:, [pair.seat, pair.other_seat]]
            seats = np.broadcast_to([players + pair.seat, players + pair.other_seat], seated.shape)
            columns.append(np.hstack([seated, seats]))
            results.append(pair.results)
            counts.append(tables.counts[pair.rows])
        terms, counted = np.concatenate(columns), np.concatenate(counts).astype(np.float64)
        return cls(tables.seats, terms, np.concatenate(results), counted, beliefs)

    def expected(self, both: Vector) -> Vector:
        """Return the expected result of each comparison, for its first player."""
        return expected_results(both[self.terms] @ SIGNS)

    def gradient(self, both: Vector) -> Vector:
        """Return the gradient, as `league.ratings.linear` requires it."""
        players = len(both) - self.seats
        surplus = self.counts * (self.results - self.expected(both))
        slopes: Vector = np.zeros(len(both))
        slopes += np.bincount(self.terms.ravel(), np.outer(surplus, SIGNS).ravel(), minlength=len(both))
        slopes[:players] += self.beliefs.gradient(both[:players])
        slopes[players:] -= SEAT_PRECISION * both[players:]
        return slopes

    def curvature(self, both: Vector) -> Matrix:
        """Return the curvature, as `league.ratings.linear` requires it."""
        players = len(both) - self.seats
        expected = self.expected(both)
        curve = outer_products(self.terms, np.outer(np.sqrt(self.counts * expected * (1 - expected)), SIGNS), len(both))
        self.beliefs.add_precision(curve[:players, :players])
        curve[players:, players:] += SEAT_PRECISION * np.eye(self.seats)
        return curve

    def seat_variances(self, both: Vector) -> Vector:
        """Return the variances, (seats,), of each seat's distance to the mean of the seats."""
        factor = Cholesky.of(self.curvature(both))
        distances = np.zeros((len(both), self.seats))
        distances[-self.seats :] = np.eye(self.seats) - 1 / self.seats
        return np.asarray(np.sum(distances * factor.solve(distances), axis=0), np.float64)
