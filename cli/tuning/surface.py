"""Finds good values of a bot's parameters from noisy games: confident local optimisation (CLOP).

A sample is a point (a share of each parameter's range, 0 to 1) with the score of a few games there. A logistic
regression fits a quadratic to all samples, which is wrong far from the best point: strength falls off a cliff, or stays
flat. So samples that are worse than the centre by more than chance explains count less, and the fit is repeated with
these weights until it stays. New samples are drawn as densely as old ones count there. So the region shrinks only as
fast as games prove that nothing is lost outside, and no schedule of steps must be chosen beforehand.

The centre of the weighted samples is the answer, not the top of the quadratic: that one wanders with the noise, and
leaves the range where the quadratic has no top. docs/decisions/ratings.md compares this with SPSA and others.

Source: R. Coulom, "CLOP: Confident Local Optimization for Noisy Black-Box Parameter Tuning" (2011). Ours differs in the
deviation that localises: the regression's own at the centre.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONFIDENCE = 3.0
"""How many deviations worse than the centre a sample is that counts 1/e: Coulom's choice."""

FLAT = 0.01
"""The prior's weight on the mean; on each other coefficient it is `STEEP`: without games the surface is flat."""

STEEP = 0.25
ROUNDS = 8
"""How often the weights are computed anew; they stay after three to six rounds."""

NEWTON_STEPS = 30
MOST_LOGIT = 8.0
LEAST_STRIDE = 0.02
DRAWN = 500
WALK = 30
"""Steps of the random walk that draws a sample; it forgets its beginning after some ten."""


def _features(points: Array) -> Array:
    """Return the terms of a quadratic for each point: 1, each coordinate from -1 to 1, and their products."""
    x = 2 * points - 1
    one, other = np.triu_indices(points.shape[1])
    return np.hstack([np.ones((len(x), 1)), x, x[:, one] * x[:, other]])


def _chance(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -MOST_LOGIT, MOST_LOGIT))), np.float64)


@dataclass(frozen=True, slots=True)
class Surface:
    """The fitted quadratic, in logits. `weights`: how much each of the `points` counts; `bend`: the Hessian."""

    points: Array
    weights: Array
    coefficients: Array
    bend: Array

    @property
    def centre(self) -> Array:
        """The weighted mean of the samples."""
        return np.asarray(self.weights @ self.points / self.weights.sum(), np.float64)

    @property
    def spread(self) -> Array:
        """The weighted deviation of the samples from the centre, by coordinate: where games are still played."""
        return np.asarray(np.sqrt(self.weights @ (self.points - self.centre) ** 2 / self.weights.sum()), np.float64)

    def expected(self, points: Array) -> Array:
        """Return the fitted scores, 0 to 1."""
        return _chance(_features(points) @ self.coefficients)

    def weigh(self, points: Array) -> Array:
        """Return how much samples at these points count, 0 to 1."""
        middle = _features(self.centre[None])[0]
        deviation = np.sqrt(middle @ np.linalg.solve(self.bend, middle))
        worse = (_features(points) - middle) @ self.coefficients / (CONFIDENCE * deviation)
        return np.asarray(np.exp(np.clip(worse, -30, 0)), np.float64)

    def draw(self, count: int, chance: np.random.Generator) -> Array:
        """Draw points with a density proportional to their weight, by random walks that begin at old samples."""
        at = self.points[chance.choice(len(self.points), count, p=self.weights / self.weights.sum())]
        stride, here = np.maximum(self.spread, LEAST_STRIDE), self.weigh(at)
        for _ in range(WALK):
            to = at + stride * chance.standard_normal(at.shape)
            inside, there = np.all((to >= 0) & (to <= 1), axis=1), self.weigh(to)
            goes = inside & (chance.random(count) * here < there)
            at, here = np.where(goes[:, None], to, at), np.where(goes, there, here)
        return at

    def best(self, rounded: Callable[[Array], Array]) -> Array:
        """Return the point that is better than the centre by most deviations of that difference above one, or the
        centre itself. The centre alone would never reach an edge of the range; the top of the quadratic follows noise.
        """
        drawn = self.draw(DRAWN, np.random.default_rng(0))
        further = np.clip(2 * drawn - self.centre, 0, 1)
        points = rounded(np.vstack([self.centre[None], drawn, further]))
        gap = _features(points) - _features(points[:1])
        error = np.sqrt(np.einsum("ij,ji->i", gap, np.linalg.solve(self.bend, gap.T)))
        return np.asarray(points[int(np.argmax(gap @ self.coefficients - error))], np.float64)


def fit(points: Array, scores: Array, games: Array) -> Surface:
    """Fit the surface to samples: `scores` (0 to 1) are means of so many `games`."""
    terms, weights = _features(points), np.ones(len(points))
    surface = None
    for _ in range(ROUNDS):
        surface = Surface(points, weights, *_regression(terms, scores, games * weights))
        before, weights = weights, surface.weigh(points)
        if np.max(np.abs(weights - before)) < 0.01:
            break
    assert surface is not None
    return surface


def _regression(terms: Array, scores: Array, games: Array) -> tuple[Array, Array]:
    """Return the most likely coefficients of a logistic regression under a normal prior, and the Hessian there."""
    prior = np.full(terms.shape[1], STEEP)
    prior[0] = FLAT
    found, bend = np.zeros(terms.shape[1]), np.diag(prior)
    for _ in range(NEWTON_STEPS):
        chance = _chance(terms @ found)
        bend = (terms.T * (games * chance * (1 - chance))) @ terms + np.diag(prior)
        step = np.linalg.solve(bend, terms.T @ (games * (scores - chance)) - prior * found)
        found = found + np.clip(step, -2, 2)
        if np.max(np.abs(step)) < 1e-6:
            break
    return found, bend
