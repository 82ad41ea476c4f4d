"""The score of results that are not independent: the pairs of one table, the games of one group.

A cluster's score is the gradient of its part of the log likelihood: for every player the sum of results less what was
expected. Clusters are independent of each other, whatever goes on inside, so the sum of their squared scores estimates
the variance of the whole score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.special import expit

from deadheat.league.ratings.arrays import Bools, Ints, Matrix, Vector
from deadheat.league.ratings.log import NO_GROUP, Tables
from deadheat.league.ratings.pairs import comparisons
from deadheat.league.states import Ranks

LEAST_DISPERSION = 0.1
"""A log of nothing but draws would leave no error at all, and a hundred draws exclude only that one game in thirty is
decided.
"""


@dataclass(frozen=True, slots=True, eq=False)
class _Clusters:
    """Scores by cluster and player, and the curvature of each pair in a cluster (times its `table_factor`)."""

    scores: csr_array  # (clusters, players)
    played: csr_array  # (clusters, players): how often
    shared: Bools  # (clusters,): it is a group of games, not a single table
    cluster: Ints  # (pairs,)
    one: Ints  # (pairs,): a player
    other: Ints  # (pairs,)
    curvature: Vector  # (pairs,)


def table_factor(seats: int, ranks: Ranks) -> float:
    """The variance of a player's score at one table among equals, over the curvature that the table's pairs give.

    By placement the score is a uniform rank's distance to its mean, (k^2 - 1) / 12 over (k - 1) / 4; by wins it is
    (k - 1) / 4 over (k - 1) / (2 k). Two seats give 1 in both.
    """
    return (seats + 1) / 3 if ranks is Ranks.PLACEMENT else seats / 2


def score_variance(tables: Sequence[Tables], strengths: Vector, ranks: Ranks, established: Bools) -> Matrix:
    """(players, players): squared scores of the clusters of established players, and what the model says of the others:
    their curvature, for groups of games times the groups' dispersion where that is above 1.
    """
    clusters = _clusters(tables, strengths, ranks)
    players = len(strengths)
    strangers = clusters.played @ (~established).astype(np.float64) > 0
    known = clusters.scores[np.flatnonzero(~strangers)]
    modelled = strangers[clusters.cluster]
    one, other = clusters.one[modelled], clusters.other[modelled]
    wider = np.where(clusters.shared, _dispersion_of_groups(clusters), 1.0)
    weights = (clusters.curvature * wider[clusters.cluster])[modelled]
    rows, columns = np.concatenate([one, other, one, other]), np.concatenate([one, other, other, one])
    laplacian = coo_array(
        (np.concatenate([weights, weights, -weights, -weights]), (rows, columns)), shape=(players, players)
    )
    found: Matrix = (known.T @ known).toarray() + laplacian.toarray()
    return found


def overdispersion(tables: Tables, strengths: Vector, ranks: Ranks) -> float:
    """The variance of the score over the curvature, with tables and groups as clusters: about 1 for two players."""
    clusters = _clusters([tables], strengths, ranks)
    promised = 2 * clusters.curvature.sum() / table_factor(tables.seats, ranks)
    return max(LEAST_DISPERSION, float(clusters.scores.power(2).sum() / promised))


def _dispersion_of_groups(clusters: _Clusters) -> float:
    """The groups' squared scores over what their curvature promises, at least 1."""
    squares = clusters.scores.power(2).sum(axis=1)[clusters.shared].sum()
    promised = 2 * clusters.curvature[clusters.shared[clusters.cluster]].sum()
    return max(1.0, float(squares / promised)) if promised > 0 else 1.0


def _clusters(parts: Sequence[Tables], strengths: Vector, ranks: Ranks) -> _Clusters:
    groups = 1 + max(int(tables.groups.max()) for tables in parts)
    count = groups
    entries: list[tuple[Ints, Ints, Vector]] = []
    pairs: list[tuple[Ints, Ints, Ints, Vector]] = []
    for tables in parts:
        alone = tables.groups == NO_GROUP
        cluster = np.where(alone, count + np.arange(len(alone)), tables.groups)
        count += len(alone)
        # Equal tables were counted: n independent ones have n times the squared score of one, n of a group n^2 times.
        weights = np.where(alone, np.sqrt(tables.counts), tables.counts)
        scores = np.zeros(tables.players.shape)
        for pair in comparisons(tables, ranks):
            one, other = (tables.players[pair.rows, seat] for seat in (pair.seat, pair.other_seat))
            expected = np.asarray(expit(strengths[one] - strengths[other]), np.float64)
            scores[pair.rows, pair.seat] += pair.results - expected
            scores[pair.rows, pair.other_seat] -= pair.results - expected
            curvature = tables.counts[pair.rows] * expected * (1 - expected) * table_factor(tables.seats, ranks)
            pairs.append((cluster[pair.rows], one, other, curvature))
        entries += [(cluster, tables.players[:, seat], scores[:, seat] * weights) for seat in range(tables.seats)]
    where, who, score = (np.concatenate(column) for column in zip(*entries, strict=True))
    cluster, one, other, curvature = (np.concatenate(column) for column in zip(*pairs, strict=True))
    shape = (count, len(strengths))
    summed = coo_array((score, (where, who)), shape=shape).tocsr()
    played = coo_array((np.ones(len(score)), (where, who)), shape=shape).tocsr()
    return _Clusters(summed, played, np.arange(count) < groups, cluster, one, other, curvature)
