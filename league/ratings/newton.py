"""The maximum of a concave function by Newton's method, for all models of this package."""

from typing import Protocol

import numpy as np
from numpy.linalg import LinAlgError

from deadheat.league.ratings.linear import Cholesky, Matrix, Vector

MOST_STEPS = 100
"""The most steps. The usual number is 5 to 12; a hundred means that there is no maximum."""

LONGEST_STEP = 2.0
"""The longest step in natural units. Far from the maximum, a full step overshoots."""

NEAR = 0.1
"""After a step below this length, the curvature is not computed again. Each further step is shorter by at least this
factor, and costs a tenth.
"""

CONVERGED = 1e-11
"""The length of the last step. The remaining error is about `NEAR` times that: below a billionth of an Elo point."""


class Concave(Protocol):
    """A function with one maximum."""

    def gradient(self, at: Vector, /) -> Vector:
        """Return the gradient at a point, of shape (n,)."""

    def curvature(self, at: Vector, /) -> Matrix:
        """Return the negative Hessian, (n, n). Only its upper triangle is read."""


class NoMaximum(Exception):
    """The function grows forever in some direction."""


def maximum(function: Concave, start: Vector) -> Vector:
    """Return the point at which the function is largest. Raises NoMaximum."""
    found = start.copy()
    factor: Cholesky | None = None
    for _ in range(MOST_STEPS if len(found) else 0):
        if factor is None:
            try:
                factor = Cholesky.of(function.curvature(found))
            except LinAlgError as error:
                raise NoMaximum from error
        step = factor.solve(function.gradient(found))
        longest = float(np.max(np.abs(step)))
        found += step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
        if longest < CONVERGED:
            return found
        if longest > NEAR:
            factor = None
    if len(found):
        raise NoMaximum
    return found
