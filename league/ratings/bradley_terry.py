"""Bradley and Terry's model of paired comparisons with Gaussian priors: the posterior and its maximum."""

from dataclasses import dataclass

import numpy as np

from deadheat.league.ratings.linear import Bools, Ints, Matrix, Vector, maximum
from deadheat.league.ratings.pairs import Pairs, expected_results
from deadheat.league.ratings.prior import Beliefs


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
        found = self.beliefs.gradient(strengths)
        found += np.bincount(self.pairs.first, surplus, minlength=self.players)
        found -= np.bincount(self.pairs.second, surplus, minlength=self.players)
        return found

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
        near = graph(ones, others, self.players)
        return components(near | near.T)

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
        return all_reach_all(graph(beat, beaten, self.players + self.beliefs.anchored))


# Connected parts of graphs. A graph is an (n, n) matrix of truth values, no larger than the ratings' own matrices.


def graph(tails: Ints, heads: Ints, size: int) -> Bools:
    """Return the (size, size) matrix of edges: [i, j] says whether an edge leads from i to j."""
    near = np.zeros((size, size), bool)
    near[tails, heads] = True
    return near


def reached(near: Bools, start: int) -> Bools:
    """Return the places, (n,), to which edges lead from `start`, and that place itself."""
    found = np.zeros(len(near), bool)
    found[start] = True
    newest = np.array([start])
    while len(newest):
        new = near[newest].any(axis=0) & ~found
        found |= new
        newest = np.flatnonzero(new)
    return found


def components(near: Bools) -> Ints:
    """Return a number for each place, (n,), equal for places that a symmetric graph connects."""
    labels = np.full(len(near), -1)
    for place in range(len(near)):
        if labels[place] < 0:
            labels[reached(near, place)] = place
    return labels


def all_reach_all(near: Bools) -> bool:
    """Say whether edges lead from every place to every other."""
    return not len(near) or bool(reached(near, 0).all() and reached(np.ascontiguousarray(near.T), 0).all())
