"""Measures of fit: whether one number per player can describe the results at all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.league.ratings.bradley_terry import Posterior
from deadheat.league.ratings.errors import dispersion
from deadheat.league.ratings.linear import Ints, Vector
from deadheat.league.ratings.pairs import Pairs

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


def fit_of(posterior: Posterior, strengths: Vector) -> Fit:
    """Measure the fit over all comparisons."""
    pairs, expected = posterior.pairs, posterior.expected(strengths)
    single = dispersion(pairs, expected)
    played = np.unique(np.concatenate([pairs.first, pairs.second]))
    fields = len(np.unique(posterior.fields()[played]))
    degrees = len(pairs.games) - len(played) + fields
    misses = (pairs.wins - pairs.games * expected) ** 2 / (pairs.games * expected * (1 - expected))
    cyclic, triads = _cyclic_triads(pairs, posterior.players)
    return Fit(
        chi2_per_dof=float(np.sum(misses)) / single / degrees if degrees > 0 else None,
        degrees=max(degrees, 0),
        dispersion=single,
        cyclic_share=cyclic / triads if triads else None,
        triads=triads,
    )


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


def pair_table(pairs: Pairs, members: Sequence[int]) -> PairTable:
    """Return the points between the players with these numbers, in that order."""
    order: Ints = np.full(1 + max([*members, *pairs.second.tolist(), 0]), -1, np.int64)
    order[list(members)] = np.arange(len(members))
    row, column = order[pairs.first], order[pairs.second]
    inside = (row >= 0) & (column >= 0)
    row, column = row[inside], column[inside]
    games, points = np.zeros((2, len(members), len(members)))
    games[row, column] = games[column, row] = pairs.games[inside]
    points[row, column] = pairs.wins[inside]
    points[column, row] = (pairs.games - pairs.wins)[inside]
    return PairTable(games.astype(np.int64).tolist(), points.tolist())
