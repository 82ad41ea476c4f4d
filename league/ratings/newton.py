"""The maximum of a concave function by Newton's method, for all models of this package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from league.ratings.arrays import Matrix, Vector

MOST_STEPS = 100
"""It takes 3 to 10; a hundred means that there is no maximum."""

LONGEST_STEP = 2.0
"""In natural units; far from the maximum a full step overshoots."""

CONVERGED = 1e-8
"""Length of a step after which the next would be of the order of its square, below what floating point tells."""

Derivatives = Callable[[Vector], tuple[Vector, Matrix]]
"""The gradient, and the upper triangle of the negative Hessian."""


class NoMaximum(Exception):
    """The function grows for ever in some direction."""


def maximum(derivatives: Derivatives, start: Vector) -> Vector:
    """Where the function is largest.

    Raises:
        NoMaximum
    """
    found = start.copy()
    if not len(found):
        return found
    for _ in range(MOST_STEPS):
        gradient, hessian = derivatives(found)
        try:
            factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise NoMaximum from error
        step = np.asarray(cho_solve(factor, gradient, check_finite=False), np.float64)
        longest = float(np.max(np.abs(step)))
        found += step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
        if longest < CONVERGED:
            return found
    raise NoMaximum
