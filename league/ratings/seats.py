"""What a seat is worth: the model with one more strength for each seat, added to its player's.

Strengths and seats are fitted together, so a seat gets no credit for the players who happened to sit in it. Seats of
tables of different sizes are distinct, since the second of two is not the second of six.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit

from deadheat.league.ratings.arrays import Matrix, Vector
from deadheat.league.ratings.clusters import overdispersion
from deadheat.league.ratings.log import Tables
from deadheat.league.ratings.newton import NoMaximum, maximum
from deadheat.league.ratings.pairs import comparisons
from deadheat.league.ratings.prior import ELO_PER_NAT, Beliefs
from deadheat.league.states import Ranks

SEAT_PRECISION = (ELO_PER_NAT / 350) ** 2
"""Prior of a seat's worth, so that three games that the first seat won do not make it infinite."""


@dataclass(frozen=True, slots=True)
class SeatEffect:
    """Elo that each seat of a table with so many adds, by seat; they sum to zero. `se_elo` are standard errors."""

    seats: int
    tables: int
    elo: tuple[float, ...]
    se_elo: tuple[float, ...]


def seat_effects(parts: Sequence[Tables], ranks: Ranks, beliefs: Beliefs, strengths: Vector) -> tuple[SeatEffect, ...]:
    """The seats' effects for each table size, omitted where the games do not determine strengths and seats."""
    found = []
    for tables in parts:
        model = _Seated.of(tables, ranks, beliefs)
        try:
            fitted = maximum(model, np.concatenate([strengths, np.zeros(tables.seats)]))
        except NoMaximum:
            continue
        factor = overdispersion(tables, strengths, ranks)
        worth = ELO_PER_NAT * fitted[-tables.seats :]
        errors = ELO_PER_NAT * np.sqrt(factor * model.seat_variances(fitted))
        found.append(SeatEffect(tables.seats, int(tables.counts.sum()), tuple(worth.tolist()), tuple(errors.tolist())))
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Seated:
    """The log posterior of strengths and, behind them, seats. Each row of `design` is a comparison: 1 at a player and
    his seat, -1 at the other's.
    """

    seats: int
    design: csr_array  # (comparisons, players + seats)
    results: Vector
    counts: Vector
    beliefs: Beliefs

    @classmethod
    def of(cls, tables: Tables, ranks: Ranks, beliefs: Beliefs) -> _Seated:
        """Of all tables with so many seats."""
        players = len(beliefs.own)
        columns, results, counts = [], [], []
        for pair in comparisons(tables, ranks):
            seated = tables.players[pair.rows][:, [pair.seat, pair.other_seat]]
            seats = np.broadcast_to([players + pair.seat, players + pair.other_seat], seated.shape)
            columns.append(np.hstack([seated, seats]))
            results.append(pair.results)
            counts.append(tables.counts[pair.rows])
        where = np.concatenate(columns)
        signs = np.tile([1.0, -1.0, 1.0, -1.0], len(where))
        starts = 4 * np.arange(len(where) + 1)
        design = csr_array((signs, where.ravel(), starts), shape=(len(where), players + tables.seats))
        return cls(tables.seats, design, np.concatenate(results), np.concatenate(counts).astype(np.float64), beliefs)

    def gradient(self, both: Vector) -> Vector:
        """As `league.ratings.newton` wants it."""
        players = len(both) - self.seats
        surplus = self.counts * (self.results - expit(self.design @ both))
        found = np.asarray(self.design.T @ surplus, np.float64)
        found[:players] += self.beliefs.gradient(both[:players])
        found[players:] -= SEAT_PRECISION * both[players:]
        return found

    def curvature(self, both: Vector) -> Matrix:
        """The same."""
        players = len(both) - self.seats
        expected = expit(self.design @ both)
        rooted = self.design.multiply(np.sqrt(self.counts * expected * (1 - expected))[:, None]).tocsr()
        found: Matrix = (rooted.T @ rooted).toarray()
        self.beliefs.add_precision(found[:players, :players])
        if not self.beliefs.anchored:
            found[:players, :players] += 1.0
        found[players:, players:] += SEAT_PRECISION * np.eye(self.seats)
        return found

    def seat_variances(self, both: Vector) -> Vector:
        """(seats,): of each seat's distance to the mean of the seats."""
        factor = cho_factor(self.curvature(both), overwrite_a=True, check_finite=False)
        distances = np.zeros((len(both), self.seats))
        distances[-self.seats :] = np.eye(self.seats) - 1 / self.seats
        return np.asarray(np.sum(distances * cho_solve(factor, distances, check_finite=False), axis=0), np.float64)
