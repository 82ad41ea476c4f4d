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
alone. Independent results count by the plain curvature, and a table by `_table_factor` times the curvature, the exact
variance of a table's score among equals; a group is also multiplied by its dispersion, if that is above 1.

Games show only differences. Only the prior says how far the field as a whole is from the centre, which is a convention
anyway. So an error is that of the distance to the mean of the field, weighted by games, and a new bot widens nobody
else's error. The field is everyone connected by games or a chain of versions; a player who is not connected to anybody
has the error of its prior.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deadheat.league.ratings.bradley_terry import Pairs, Posterior, comparisons, expected_results, pairs_of
from deadheat.league.ratings.linear import Bools, Cholesky, Ints, Matrix, Vector, outer_products
from deadheat.league.ratings.log import NO_GROUP, Tables
from deadheat.league.states import Ranks

# The score of results that are not independent: the pairs of one table, the games of one group.
# A cluster's score is the gradient of its part of the log likelihood: for every player, the sum of results less the
# expected one. Clusters are independent of each other, whatever happens inside, so the sum of their squared scores
# estimates the variance of the whole score.

LEAST_DISPERSION = 0.1
"""Without a minimum, a log of draws would leave no error, but 100 draws only exclude that one game in 30 is decided."""


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """Clusters with the same number of players."""

    clusters: Ints  # (n,)
    players: Ints  # (n, members)
    scores: Vector  # (n, members)


@dataclass(frozen=True, slots=True, eq=False)
class _Clusters:
    """The scores by cluster and player, and the curvature of each pair in a cluster (times its `_table_factor`)."""

    scored: Sequence[_Alike]
    shared: Bools  # (clusters,): whether it is a group of games rather than a single table
    cluster: Ints  # (pairs,)
    first: Ints  # (pairs,): a player
    other: Ints  # (pairs,)
    curvature: Vector  # (pairs,)


def _table_factor(seats: int, ranks: Ranks) -> float:
    """Return the variance of a player's score at one table among equals, divided by the curvature of the table's pairs.

    By placement, the score is a uniform rank's distance to its mean, so this is (k^2 - 1) / 12 over (k - 1) / 4. By
    wins, it is (k - 1) / 4 over (k - 1) / (2 k). Two seats give 1 in both.
    """
    return (seats + 1) / 3 if ranks is Ranks.PLACEMENT else seats / 2


def _score_variance(tables: Sequence[Tables], strengths: Vector, ranks: Ranks, established: Bools) -> Matrix:
    """Return the variance of the score, (players, players), upper triangle. Clusters of established players contribute
    their squared scores; all others contribute the model's value, which is their curvature, for groups of games times
    the groups' dispersion if that is above 1.
    """
    clusters = _clusters(tables, strengths, ranks)
    players = len(strengths)
    strangers = np.zeros(len(clusters.shared), bool)
    variance: Matrix = np.zeros((players, players))
    for alike in clusters.scored:
        strange = (~established)[alike.players].any(axis=1)
        strangers[alike.clusters[strange]] = True
        variance += outer_products(alike.players[~strange], alike.scores[~strange], players)
    modelled = strangers[clusters.cluster]
    groups = ((alike, clusters.shared[alike.clusters]) for alike in clusters.scored)
    squares = sum(float(np.sum(alike.scores[shared] ** 2)) for alike, shared in groups)
    promised = 2 * float(clusters.curvature[clusters.shared[clusters.cluster]].sum())
    wider = np.where(clusters.shared, max(1.0, squares / promised) if promised > 0 else 1.0, 1.0)
    rooted = np.sqrt((clusters.curvature * wider[clusters.cluster])[modelled])
    ends = np.column_stack([clusters.first[modelled], clusters.other[modelled]])
    return variance + outer_products(ends, np.column_stack([rooted, -rooted]), players)


def overdispersion(tables: Tables, strengths: Vector, ranks: Ranks) -> float:
    """Return the score's variance over the curvature, with tables and groups as clusters: near 1 for two players."""
    clusters = _clusters([tables], strengths, ranks)
    promised = 2 * clusters.curvature.sum() / _table_factor(tables.seats, ranks)
    return max(LEAST_DISPERSION, sum(float(np.sum(alike.scores**2)) for alike in clusters.scored) / float(promised))


def _clusters(parts: Sequence[Tables], strengths: Vector, ranks: Ranks) -> _Clusters:
    groups = 1 + max(int(tables.groups.max()) for tables in parts)
    count = groups
    scored: list[_Alike] = []
    grouped: list[tuple[Ints, Ints, Vector]] = []
    pairs: list[tuple[Ints, Ints, Ints, Vector]] = []
    for tables in parts:
        alone = tables.groups == NO_GROUP
        cluster = np.where(alone, count + np.arange(len(alone)), tables.groups)
        count += len(alone)
        # Equal tables are stored once with a count: n independent ones have n times the squared score of one, n of a
        # group n^2 times.
        weights = np.where(alone, np.sqrt(tables.counts), tables.counts)
        scores = np.zeros(tables.players.shape)
        for pair in comparisons(tables, ranks):
            first, other = (tables.players[pair.rows, seat] for seat in (pair.seat, pair.other_seat))
            expected = expected_results(strengths[first] - strengths[other])
            scores[pair.rows, pair.seat] += pair.results - expected
            scores[pair.rows, pair.other_seat] -= pair.results - expected
            curvature = tables.counts[pair.rows] * expected * (1 - expected) * _table_factor(tables.seats, ranks)
            pairs.append((cluster[pair.rows], first, other, curvature))
        scores *= weights[:, None]
        single, together = np.flatnonzero(alone), np.flatnonzero(~alone)
        scored.append(_Alike(cluster[single], tables.players[single], scores[single]))
        where = np.repeat(cluster[together], tables.seats)
        grouped.append((where, tables.players[together].ravel(), scores[together].ravel()))
    cluster, first, other, curvature = (np.concatenate(column) for column in zip(*pairs, strict=True))
    where, who, score = (np.concatenate(column) for column in zip(*grouped, strict=True))
    scored += _summed(where, who, score, len(strengths))
    return _Clusters(scored, np.arange(count) < groups, cluster, first, other, curvature)


def _summed(where: Ints, who: Ints, score: Vector, players: int) -> Iterator[_Alike]:
    """Add up the scores of groups by cluster and player. A player may occur several times in a group."""
    keys = where * players + who
    order = _order(keys)
    keys = keys[order]
    new = _new(keys)
    scores = np.bincount(np.cumsum(new) - 1, score[order]) if len(keys) else score
    clusters = keys[new] // players
    members = keys[new] - players * clusters
    firsts = np.flatnonzero(_new(clusters))
    sizes = np.diff(firsts, append=len(clusters))
    for size in np.unique(sizes):
        alike = firsts[sizes == size]
        at = alike[:, None] + np.arange(size)
        yield _Alike(clusters[alike], members[at], scores[at])


def _order(keys: Ints) -> Ints:
    """Return the sorting order of non-negative numbers, 16 bits at a time, which numpy sorts in half the time."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    while np.any(keys := keys >> 16):
        order = order[np.argsort(keys[order].astype(np.uint16), kind="stable")]
    return order


def _new(ascending: Ints) -> Bools:
    """Say whether each number differs from the one before it."""
    is_new = np.ones(len(ascending), bool)
    is_new[1:] = ascending[1:] != ascending[:-1]
    return is_new


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
    score += _score_variance(clustered, strengths, ranks, established)
    diagonal = np.einsum("ii->i", score)
    diagonal += RIDGE * diagonal.mean()
    return curvature.solve(Cholesky.of(score).upper.T)
