"""How many wrong results a lead survives: the fewest results of two neighbours that, reversed, would turn their order.

A win of the player ahead becomes a loss, a loss of the one behind a win, and a draw is lost or won. A single reversed
result moves the gap by its influence, which follows from the curvature A of the posterior: with d the difference of the
two strengths and v = A^-1 d, a result of i against j that is worth w points more to i moves it by w (v_i - v_j) (the
infinitesimal jackknife). So the results are reversed in the order of their influence.

Influences add up only near the maximum. With the results reversed, the gradient at a distance e from the maximum is
D - A e + r(e): D are the points that changed sides, and r is how much the expected results bend away from the
curvature. (In a large field, r is exact for the two players' own games, and of second order for those of others, who
hardly move.) The strengths with which the gap is exactly zero solve e = A^-1 (D + r(e)), where just as many results are
reversed, the last one in part, as d e = -gap asks for. All leads are solved at once, by fixed-point iteration with
Aitken's relaxation. The number equals that from refits with the reversed results (tests/league/test_ratings_leads.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.league.ratings.bradley_terry import Posterior, expected_results
from deadheat.league.ratings.linear import Cholesky, Ints, Matrix, Vector

STEPS = 40
NEAR = 1e-7
"""The length of the last step, in results; by as much a number of results may be off."""

WHOLE = 2**18
"""Up to this many leads times pairs, r is exact for the games of all."""

KINDS = np.array([1.0, 0.5, 1.0, 0.5])
"""The points that a reversed result moves: wins and draws of the player ahead, losses and draws of the one behind."""


def survived(posterior: Posterior, strengths: Vector, ahead: Ints, behind: Ints) -> Vector:
    """Return how many wrong results each lead survives, (leads,); infinite: all of the two players' results.

    `ahead` and `behind` (leads,): the players. `posterior` is of games of two, and `strengths` its maximum.
    """
    lead, players = np.arange(len(ahead)), len(strengths)
    games, wins, draws = _results(posterior)
    curvature = Cholesky.of(posterior.curvature(strengths))
    apart = np.zeros((players, len(lead)))
    apart[ahead, lead], apart[behind, lead] = 1.0, -1.0
    moved = curvature.solve(apart).T  # (leads, players)
    of_first, of_second = moved[lead, ahead][:, None] - moved, moved - moved[lead, behind][:, None]
    influence = np.stack([of_first, of_first, of_second, of_second], axis=1) * KINDS[:, None]
    counts = np.stack([wins[ahead], draws[ahead], wins[:, behind].T, draws[behind]], axis=1)
    counts[lead, 2:, ahead] = 0.0  # they are among the other's
    counts[influence <= 0] = 0.0
    order = np.argsort(-influence.reshape(len(lead), -1), axis=1)
    each, many = (np.take_along_axis(part.reshape(len(lead), -1), order, axis=1) for part in (influence, counts))
    reach = np.cumsum(each * many, axis=1)
    bends = _Bends.of(games, strengths, ahead, behind)
    gap = strengths[ahead] - strengths[behind]

    bent, shift = np.zeros((len(lead), players)), np.zeros((len(lead), players))
    asked, needed, weight, before = gap, np.zeros(len(lead)), np.ones((len(lead), 1)), np.zeros_like(shift)
    for step in range(STEPS):
        asked = gap + np.einsum("ij,ij->i", moved, bent)
        taken = np.clip((asked[:, None] - (reach - each * many)) / np.where(each > 0, each, 1.0), 0.0, many)
        was, needed = needed, taken.sum(axis=1)
        flow = np.zeros_like(taken)
        np.put_along_axis(flow, order, taken, axis=1)
        points = np.einsum("ikj,k->ij", (parts := flow.reshape(counts.shape))[:, :2], KINDS[:2])
        gained = np.einsum("ikj,k->ij", parts[:, 2:], KINDS[2:])
        change = points - gained + bent
        change[lead, ahead] -= points.sum(axis=1)
        change[lead, behind] += gained.sum(axis=1)
        residual = curvature.solve(change.T).T - shift
        if step:
            turn = residual - before
            length = np.einsum("ij,ij->i", turn, turn)
            weight *= (-np.einsum("ij,ij->i", before, turn) / np.where(length > 0, length, np.inf))[:, None]
        shift, before = shift + weight * residual, residual
        bent = bends.at(shift)
        if step and np.max(np.abs(needed - was)) < NEAR:
            break
    return np.where(reach[:, -1] > asked, np.ceil(needed - NEAR) - 1, np.inf)


def _results(posterior: Posterior) -> tuple[Matrix, Matrix, Matrix]:
    """Return the games, wins and draws of each player against each other; each (players, players)."""
    pairs = posterior.pairs
    games, wins, draws = (np.zeros((posterior.players, posterior.players)) for _ in range(3))
    drawn = 4 * (pairs.wins - pairs.squares)  # a draw is half a win, and its square a quarter
    won = pairs.wins - drawn / 2
    games[pairs.first, pairs.second] = games[pairs.second, pairs.first] = pairs.games
    draws[pairs.first, pairs.second] = draws[pairs.second, pairs.first] = drawn
    wins[pairs.first, pairs.second], wins[pairs.second, pairs.first] = won, pairs.games - won - drawn
    return games, wins, draws


@dataclass(frozen=True, slots=True, eq=False)
class _Bends:
    """Computes r(e) for the leads. `own`: for either player of each lead, who it is, and its games against each player
    (those between the two only once). `turning`: the games times the second derivative of their expected results.
    """

    games: Matrix  # (players, players)
    apart: Matrix  # (players, players): how far the first is ahead of the second
    turning: Matrix  # (players, players)
    own: Sequence[tuple[Ints, Matrix]]

    @classmethod
    def of(cls, games: Matrix, strengths: Vector, ahead: Ints, behind: Ints) -> "_Bends":
        others = np.where(np.arange(len(strengths)) == ahead[:, None], 0.0, games[behind])
        apart = strengths[:, None] - strengths
        p = expected_results(apart)
        return cls(games, apart, games * p * (1 - p) * (1 - 2 * p), [(ahead, games[ahead]), (behind, others)])

    def at(self, shift: Matrix) -> Matrix:
        """Return r for the distances `shift`, (leads, players)."""
        if len(shift) * self.games.size <= WHOLE:
            turned = shift[:, :, None] - shift[:, None, :]
            return np.asarray(_bend(self.games, self.apart, turned, 1).sum(axis=2), np.float64)
        straight = shift**2 * self.turning.sum(axis=1) + shift**2 @ self.turning.T
        bent = shift * (shift @ self.turning.T) - straight / 2
        lead = np.arange(len(shift))
        for player, games in self.own:
            bend = _bend(games, self.apart[player], shift[lead, player][:, None] - shift, 2)
            bent -= bend
            bent[lead, player] += bend.sum(axis=1)
        return np.asarray(bent, np.float64)


def _bend(games: Matrix, apart: Matrix, turned: Matrix, order: int) -> Matrix:
    """Return by how much less the games give to a player than their Taylor series of the first or second `order` says,
    if it moves away from its opponents by `turned`.
    """
    p = expected_results(apart)
    series = p + p * (1 - p) * turned * (1.0 if order == 1 else 1 + (1 - 2 * p) * turned / 2)
    return np.asarray(games * (series - expected_results(apart + turned)), np.float64)
