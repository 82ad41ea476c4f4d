"""The score of results that are not independent: the pairs of one table, the games of one group.

A cluster's score is the gradient of its part of the log likelihood: for every player, the sum of results less the
expected one. Clusters are independent of each other, whatever happens inside, so the sum of their squared scores
estimates the variance of the whole score.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.league.ratings.linear import Bools, Ints, Matrix, Vector, outer_products
from deadheat.league.ratings.log import NO_GROUP, Tables
from deadheat.league.ratings.pairs import comparisons, expected_results
from deadheat.league.states import Ranks

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
    """The scores by cluster and player, and the curvature of each pair in a cluster (times its `table_factor`)."""

    scored: Sequence[_Alike]
    shared: Bools  # (clusters,): whether it is a group of games rather than a single table
    cluster: Ints  # (pairs,)
    one: Ints  # (pairs,): a player
    other: Ints  # (pairs,)
    curvature: Vector  # (pairs,)


def table_factor(seats: int, ranks: Ranks) -> float:
    """Return the variance of a player's score at one table among equals, divided by the curvature of the table's pairs.

    By placement, the score is a uniform rank's distance to its mean, so this is (k^2 - 1) / 12 over (k - 1) / 4. By
    wins, it is (k - 1) / 4 over (k - 1) / (2 k). Two seats give 1 in both.
    """
    return (seats + 1) / 3 if ranks is Ranks.PLACEMENT else seats / 2


def score_variance(tables: Sequence[Tables], strengths: Vector, ranks: Ranks, established: Bools) -> Matrix:
    """Return the variance of the score, (players, players), upper triangle. Clusters of established players contribute
    their squared scores; all others contribute the model's value, which is their curvature, for groups of games times
    the groups' dispersion if that is above 1.
    """
    clusters = _clusters(tables, strengths, ranks)
    players = len(strengths)
    strangers = np.zeros(len(clusters.shared), bool)
    found: Matrix = np.zeros((players, players))
    for alike in clusters.scored:
        strange = (~established)[alike.players].any(axis=1)
        strangers[alike.clusters[strange]] = True
        found += outer_products(alike.players[~strange], alike.scores[~strange], players)
    modelled = strangers[clusters.cluster]
    groups = ((alike, clusters.shared[alike.clusters]) for alike in clusters.scored)
    squares = sum(float(np.sum(alike.scores[shared] ** 2)) for alike, shared in groups)
    promised = 2 * float(clusters.curvature[clusters.shared[clusters.cluster]].sum())
    wider = np.where(clusters.shared, max(1.0, squares / promised) if promised > 0 else 1.0, 1.0)
    rooted = np.sqrt((clusters.curvature * wider[clusters.cluster])[modelled])
    ends = np.column_stack([clusters.one[modelled], clusters.other[modelled]])
    return found + outer_products(ends, np.column_stack([rooted, -rooted]), players)


def overdispersion(tables: Tables, strengths: Vector, ranks: Ranks) -> float:
    """Return the score's variance over the curvature, with tables and groups as clusters: near 1 for two players."""
    clusters = _clusters([tables], strengths, ranks)
    promised = 2 * clusters.curvature.sum() / table_factor(tables.seats, ranks)
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
            one, other = (tables.players[pair.rows, seat] for seat in (pair.seat, pair.other_seat))
            expected = expected_results(strengths[one] - strengths[other])
            scores[pair.rows, pair.seat] += pair.results - expected
            scores[pair.rows, pair.other_seat] -= pair.results - expected
            curvature = tables.counts[pair.rows] * expected * (1 - expected) * table_factor(tables.seats, ranks)
            pairs.append((cluster[pair.rows], one, other, curvature))
        scores *= weights[:, None]
        single, together = np.flatnonzero(alone), np.flatnonzero(~alone)
        scored.append(_Alike(cluster[single], tables.players[single], scores[single]))
        where = np.repeat(cluster[together], tables.seats)
        grouped.append((where, tables.players[together].ravel(), scores[together].ravel()))
    cluster, one, other, curvature = (np.concatenate(column) for column in zip(*pairs, strict=True))
    where, who, score = (np.concatenate(column) for column in zip(*grouped, strict=True))
    scored += _summed(where, who, score, len(strengths))
    return _Clusters(scored, np.arange(count) < groups, cluster, one, other, curvature)


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
    found = np.ones(len(ascending), bool)
    found[1:] = ascending[1:] != ascending[:-1]
    return found
