"""Tables as paired comparisons, and Bradley and Terry's model of these: the posterior with Gaussian priors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deadheat.league.ratings.linear import Bools, Ints, Matrix, Vector, are_dense, how_many, maximum
from deadheat.league.ratings.log import Tables
from deadheat.league.ratings.prior import Beliefs
from deadheat.league.states import Ranks

# Tables as pairwise comparisons: each pair of a table's players is a win, a draw or a loss.
# The season's setting decides which pairs are compared. By placement, all pairs count, and equal ranks are half a win
# for each. By wins, only pairs with a first place count: the winner beat everybody else, and those who share the first
# place drew; the order of the others means nothing.


def expected_results(ahead: Vector) -> Vector:
    """Return the expected result of a player that is `ahead`: 1 / (1 + exp(-ahead)), accurate even if tiny."""
    small = np.exp(-np.abs(ahead))
    return np.asarray(np.where(ahead >= 0, 1.0, small) / (1 + small), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two seats at the tables `rows`: `results` are 1, 1/2 or 0 for `seat` against `other_seat`."""

    seat: int
    other_seat: int
    rows: Ints  # (n,)
    results: Vector  # (n,)


def comparisons(tables: Tables, ranks: Ranks) -> Iterator[Comparison]:
    """Yield every pair of seats with the rows in which it counts."""
    everyone = np.arange(len(tables.counts))
    for seat, other_seat in combinations(range(tables.seats), 2):
        own, other = tables.ranks[:, seat], tables.ranks[:, other_seat]
        rows = everyone if ranks is Ranks.PLACEMENT else np.flatnonzero((own == 0) | (other == 0))
        results = (1.0 + (own < other)[rows] - (own > other)[rows]) / 2
        yield Comparison(seat, other_seat, rows, results)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Distinct pairs of players in ascending order, `first` < `second`. Counts are exact in floating point."""

    first: Ints
    second: Ints
    games: Vector
    wins: Vector  # the first player's, draws as halves
    squares: Vector  # the sum of the first player's squared results

    def only(self, chosen: Bools) -> "Pairs":
        """Return some of the pairs."""
        columns = (self.games, self.wins, self.squares)
        return Pairs(self.first[chosen], self.second[chosen], *(column[chosen] for column in columns))


def pairs_of(parts: Iterable[Tables], ranks: Ranks, players: int) -> Pairs:
    """Return all comparisons, added up by pair. Players are numbered below `players`."""
    keys: list[Ints] = [np.zeros(0, np.int64)]
    results, counts = [np.zeros(0)], [np.zeros(0)]
    for tables in parts:
        for comparison in comparisons(tables, ranks):
            own = tables.players[comparison.rows, comparison.seat]
            other = tables.players[comparison.rows, comparison.other_seat]
            keys.append(np.minimum(own, other) * players + np.maximum(own, other))
            results.append(np.where(own < other, comparison.results, 1 - comparison.results))
            counts.append(tables.counts[comparison.rows].astype(np.float64))
    key = np.concatenate(keys)
    if are_dense(key, players**2):
        unique = np.flatnonzero(np.bincount(key, minlength=players**2))
        place = np.zeros(players**2, np.int64)
        place[unique] = np.arange(len(unique))
        pair = place[key]
    else:
        unique, pair = np.unique(key, return_inverse=True)
    result, count = np.concatenate(results), np.concatenate(counts)
    first, second = np.divmod(unique, max(players, 1))
    games, wins, squares = (
        np.bincount(pair, weight, minlength=len(unique)).astype(np.float64)
        for weight in (count, count * result, count * result**2)
    )
    return Pairs(first, second, games, wins, squares)


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """The games of each player and their results; each array is (players,).

    By placement, wins, draws and losses count each opponent at a table. By wins, they count tables: won, with a shared
    first place, and the rest.
    """

    games: Ints
    wins: Ints
    draws: Ints
    losses: Ints


def tallies_of(parts: Iterable[Tables], ranks: Ranks, players: int) -> Tallies:
    """Return the sums of each player's results."""
    totals = np.zeros((4, players))  # games, wins, draws, losses
    for tables in parts:
        for seat in range(tables.seats):
            own, others = tables.ranks[:, seat], np.delete(tables.ranks, seat, axis=1).T
            better, level = how_many(own < other for other in others), how_many(own == other for other in others)
            if ranks is Ranks.WINS:
                first = own == 0
                worse = np.where(first, 0, 1)
                better, level = (first & (level == 0)).astype(int), (first & (level > 0)).astype(int)
            else:
                worse = tables.seats - 1 - better - level
            amounts: tuple[int | Ints, ...] = (1, better, level, worse)
            for row, amount in enumerate(amounts):
                totals[row] += np.bincount(tables.players[:, seat], tables.counts * amount, minlength=players)
    return Tallies(*np.rint(totals).astype(np.int64))


class NoRating(Exception):
    """Without a prior, the log determines no finite ratings: a part of the players never lost to the rest, or never
    beat them (Ford 1957).
    """


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The posterior of the strengths of `players` players, on the natural scale around the centre."""

    players: int
    pairs: Pairs
    beliefs: Beliefs

    def expected(self, strengths: Vector) -> Vector:
        """Return the expected result of each pair, for its first player."""
        return expected_results(strengths[self.pairs.first] - strengths[self.pairs.second])

    def gradient(self, strengths: Vector) -> Vector:
        """Return the gradient of the log density, one entry per player."""
        surplus = self.pairs.wins - self.pairs.games * self.expected(strengths)
        slopes = self.beliefs.gradient(strengths)
        slopes += np.bincount(self.pairs.first, surplus, minlength=self.players)
        slopes -= np.bincount(self.pairs.second, surplus, minlength=self.players)
        return slopes

    def curvature(self, strengths: Vector) -> Matrix:
        """Return the negative Hessian of the log density, as an upper triangle."""
        expected = self.expected(strengths)
        return self.precision(self.pairs.games * expected * (1 - expected))

    def precision(self, information: Vector) -> Matrix:
        """Return the negative Hessian, upper triangle, if each pair gives `information` about its difference."""
        matrix: Matrix = np.zeros((self.players, self.players))
        matrix[self.pairs.first, self.pairs.second] = -information
        diagonal = np.einsum("ii->i", matrix)
        diagonal += np.bincount(self.pairs.first, information, minlength=self.players)
        diagonal += np.bincount(self.pairs.second, information, minlength=self.players)
        self.beliefs.add_precision(matrix)
        return matrix

    def maximum(self, start: Vector | None) -> Vector:
        """Return the most likely strengths. Raises NoRating."""
        if not self._determined():
            raise NoRating
        return maximum(self, np.zeros(self.players) if start is None else start)

    def fields(self, *, chained: bool = True) -> Ints:
        """Return a number for each player, (players,), equal for players that games (or chains, too) connect."""
        ones, others = self.pairs.first, self.pairs.second
        if chained:
            ones = np.concatenate([ones, self.beliefs.children])
            others = np.concatenate([others, self.beliefs.parents])
        near = _graph(ones, others, self.players)
        near = near | near.T
        labels = np.full(self.players, -1)
        for player in range(self.players):
            if labels[player] < 0:
                labels[_reached(near, player)] = player
        return labels

    def _determined(self) -> bool:
        """Say whether everybody has beaten everybody, directly or through others. A prior counts as a draw with the
        centre, and a chain as a draw between the two versions.
        """
        if self.beliefs.own.all():
            return True
        wins, losses = self.pairs.wins > 0, self.pairs.wins < self.pairs.games
        known = np.flatnonzero(self.beliefs.own)
        centre = np.full(len(known), self.players)
        edges = (
            (self.pairs.first[wins], self.pairs.second[wins]),
            (self.pairs.second[losses], self.pairs.first[losses]),
            (self.beliefs.children, self.beliefs.parents),
            (self.beliefs.parents, self.beliefs.children),
            (known, centre),
            (centre, known),
        )
        beat, beaten = (np.concatenate(side) for side in zip(*edges, strict=True))
        near = _graph(beat, beaten, self.players + self.beliefs.anchored)
        return not len(near) or bool(_reached(near, 0).all() and _reached(np.ascontiguousarray(near.T), 0).all())


# Connected parts of graphs. A graph is an (n, n) matrix of truth values, no larger than the ratings' own matrices.


def _graph(tails: Ints, heads: Ints, size: int) -> Bools:
    """Return the (size, size) matrix of edges: [i, j] says whether an edge leads from i to j."""
    near = np.zeros((size, size), bool)
    near[tails, heads] = True
    return near


def _reached(near: Bools, start: int) -> Bools:
    """Return the places, (n,), to which edges lead from `start`, and that place itself."""
    visited = np.zeros(len(near), bool)
    visited[start] = True
    newest = np.array([start])
    while len(newest):
        new = near[newest].any(axis=0) & ~visited
        visited |= new
        newest = np.flatnonzero(new)
    return visited
