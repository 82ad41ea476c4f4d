"""The errors of ratings: the covariance of the estimated strengths, for any mixture of results.

A log has two kinds of results, which need different treatment.

*Independent* results: two players, with their own dice. The curvature of the posterior counts each as binomial, with
the variance p (1 - p). Draws vary less, so the data's part is divided by the dispersion factor: the sum of the squared
residuals over the sum of p (1 - p), at most 1 (a lack of fit is shown beside the table, not hidden in the errors).

*Clustered* results: the pairs of a table of three or more players, and all games of a group, which share their dice.
Their pairs are not independent, so the curvature alone would promise too much. The variance of the score is estimated
from the clusters themselves, and the covariance is the sandwich A^-1 (B + Q) A^-1 (White 1982; A is the posterior's
curvature, Q the prior's part in it, B the sum of the clusters' squared scores).

Both estimates rest on residuals and are unreliable with few of them (a sandwich covered only .79 to .91 below 20
games). So a player with fewer than `ESTABLISHED_GAMES`, and every cluster with such a player, counts by the model
alone. Independent results count by the plain curvature, and a table by `table_factor` times the curvature, which is the
exact variance of a table's score among equals; a group is also multiplied by its dispersion, if that is above 1.

Games show only differences. Only the prior says how far the field as a whole is from the centre, which is a convention
anyway. So an error is that of the distance to the mean of the field, weighted by games, and a new bot widens nobody
else's error. The field is everyone connected by games or a chain of versions; a player who is not connected to anybody
has the error of its prior.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deadheat.league.ratings.bradley_terry import Posterior
from deadheat.league.ratings.clusters import LEAST_DISPERSION, score_variance
from deadheat.league.ratings.linear import Bools, Cholesky, Ints, Matrix, Vector
from deadheat.league.ratings.log import NO_GROUP, Tables
from deadheat.league.ratings.pairs import Pairs, pairs_of
from deadheat.league.states import Ranks

ESTABLISHED_GAMES = 50
"""The number of games from which a player's own residuals are used."""

RIDGE = 1e-10
"""The share of the mean variance that is added for directions in which few clusters leave no variance."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The covariance of the strengths as `factor` times its transpose, and the standard errors of the distances to each
    player's field, on the natural scale.
    """

    factor: Matrix  # (players, players)
    errors: Vector  # (players,)


def spread_of(posterior: Posterior, strengths: Vector, tables: Sequence[Tables], ranks: Ranks, games: Ints) -> Spread:
    """Return the errors of the most likely strengths. `games` (players,): the number of games of each player."""
    if not posterior.players:
        return Spread(np.zeros((0, 0)), np.zeros(0))
    established = _evidence(tables, ranks, posterior.players) >= ESTABLISHED_GAMES
    independent, clustered = _kinds(tables)
    if clustered:
        apart = replace(posterior, pairs=pairs_of(independent, ranks, posterior.players))
        factor = _sandwich(posterior, apart, strengths, clustered, ranks, established)
    else:
        information, factors = _information(posterior, strengths, established)
        factor = Cholesky.of(posterior.precision(information / factors)).inverse()
    # The error of the distance to the mean m of a player's own field, weighted by games: the length of f - m, for row f
    # of the factor.
    fields = posterior.fields()
    variances = np.einsum("ij,ij->i", factor, factor)
    for field in np.unique(fields[games > 0]):
        members = np.flatnonzero(fields == field)
        mean = np.bincount(members, games[members] / games[members].sum(), minlength=len(games)) @ factor
        variances[members] += mean @ mean - 2 * (factor @ mean)[members]
    return Spread(factor, np.asarray(np.sqrt(variances), np.float64))


def dispersion(pairs: Pairs, expected: Vector) -> float:
    """Return the sum of squared residuals over the sum of p (1 - p), at most 1."""
    squares = np.sum(pairs.squares - 2 * expected * pairs.wins + pairs.games * expected**2)
    binomial = np.sum(pairs.games * expected * (1 - expected))
    return float(np.clip(squares / binomial, LEAST_DISPERSION, 1.0)) if binomial > 0 else 1.0


def _evidence(tables: Sequence[Tables], ranks: Ranks, players: int) -> Vector:
    """Return the games of each player, (players,). If only first places count, a table of k is worth 2 / k of a game to
    each (measured: the sandwich covers .885 after 50 tables of six with one winner each, .93 after 150).
    """
    total = np.zeros(players)
    for table in tables:
        weights = table.counts * (2 / table.seats if ranks is Ranks.WINS else 1.0)
        total += np.bincount(table.players.ravel(), np.repeat(weights, table.seats), minlength=players)
    return total


def _kinds(tables: Sequence[Tables]) -> tuple[list[Tables], list[Tables]]:
    """Split the tables into independent and clustered results."""
    alone = [(table, (table.groups == NO_GROUP) & (table.seats == 2)) for table in tables]
    independent = [
        table if single.all() else table.only(np.flatnonzero(single)) for table, single in alone if single.any()
    ]
    clustered = [table.only(np.flatnonzero(~single)) for table, single in alone if not single.all()]
    return independent, clustered


def _information(posterior: Posterior, strengths: Vector, established: Bools) -> tuple[Vector, Vector]:
    """Return, for each pair, the binomial information of its independent results, and the factor of their variance."""
    pairs, expected = posterior.pairs, posterior.expected(strengths)
    known = established[pairs.first] & established[pairs.second]
    factors = np.where(known, dispersion(pairs.only(known), expected[known]), 1.0)
    return pairs.games * expected * (1 - expected), factors


def _sandwich(
    posterior: Posterior,
    apart: Posterior,
    strengths: Vector,
    clustered: Sequence[Tables],
    ranks: Ranks,
    established: Bools,
) -> Matrix:
    """Return a factor of A^-1 (B + Q) A^-1. `apart` is the posterior of the independent results alone."""
    curvature = Cholesky.of(posterior.curvature(strengths))
    information, factors = _information(apart, strengths, established)
    score = apart.precision(information * factors)
    score += score_variance(clustered, strengths, ranks, established)
    diagonal = np.einsum("ii->i", score)
    diagonal += RIDGE * diagonal.mean()
    return curvature.solve(Cholesky.of(score).upper.T)
