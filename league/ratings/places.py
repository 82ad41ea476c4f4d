"""Ranks and their uncertainty.

Ratings that are shown as equal (rounded to whole Elo) are equal, and so are their places. The next place then counts
all those before it (1, 2, 2, 4). The interval of a place comes from `DRAWS` draws of all strengths together from their
joint distribution: it contains all ranks but those in 2.5 % of the draws at either end, and always the place itself.
The log's hash seeds the draws, so everybody who recomputes a table draws the same.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deadheat.league.ratings.linear import Ints, Matrix, Vector

DRAWS = 1000

OUTSIDE = 25
"""The number of draws outside the interval at either end: 2.5 %."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of one field; each array has shape (field,). `low` is the better end, and 1 the first place."""

    rank: Ints
    low: Ints
    high: Ints


def places_of(elo: Vector, factor: Matrix, sha256: str, unit_elo: float = 1.0) -> Places:
    """Return the places of players ranked against each other. `factor` (field, n) times its transpose is their
    covariance, in units of `unit_elo`.
    """
    shown = np.rint(elo)
    rank = 1 + np.searchsorted(np.sort(-shown), -shown)
    chance = np.random.default_rng(int(sha256, 16))
    # Seven digits suffice for random numbers, and take half the time: 40 of 190 ms with 1,000 players.
    throws = chance.standard_normal((factor.shape[1], DRAWS), dtype=np.float32)
    drawn = (elo / unit_elo).astype(np.float32)[:, None] + factor.astype(np.float32) @ throws
    low, high = _middle_ranks(np.ascontiguousarray(drawn.T))
    return Places(rank, np.minimum(low, rank), np.maximum(high, rank))


def _middle_ranks(drawn: NDArray[np.float32]) -> tuple[Ints, Ints]:
    """Return the range of each column's ranks over the rows, without the extremes."""
    field = drawn.shape[1]
    order = np.argsort(-drawn, axis=1)
    occurrences = np.bincount((order * field + np.arange(field)).ravel(), minlength=field**2)
    so_far = np.cumsum(occurrences.reshape(field, field), axis=1)
    return 1 + np.sum(so_far <= OUTSIDE, axis=1), 1 + np.sum(so_far < DRAWS - OUTSIDE, axis=1)
