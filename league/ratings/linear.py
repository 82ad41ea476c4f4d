"""The numerical base of ratings: names of array types, linear algebra that numpy leaves out, the maximum of a function.

numpy factors a positive definite matrix but solves no triangular system, and a general solver costs twice as much. Here
the systems are solved in blocks: the blocks on the factor's diagonal are inverted once, and the rest is multiplication.
"""

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.linalg import LinAlgError, _umath_linalg
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def how_many(conditions: Iterable[Bools]) -> Ints:
    """Count, for each row, the conditions that hold there. Each has shape (rows,), and there is at least one."""
    first, *others = conditions
    total = first.astype(np.int64)
    for other in others:
        total += other
    return total


def joined(parts: Sequence[Ints]) -> Ints:
    """Concatenate arrays. A single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def are_dense(keys: Ints, below: int) -> bool:
    """Say whether counting keys, all `below` a bound, beats sorting them: there are few more counters than keys."""
    return below <= 2 * len(keys)


BLOCK = 64
"""The number of rows of a diagonal block. Smaller blocks leave more to Python, larger ones are slower to invert."""

CHUNK = 2**22
"""The number of products that are computed at once; they take 64 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Cholesky:
    """A factor of a positive definite matrix: the transpose of `upper` times `upper`."""

    upper: Matrix  # (n, n)
    corners: Sequence[Matrix]  # inverses of the blocks on its diagonal

    @classmethod
    def of(cls, matrix: Matrix) -> "Cholesky":
        """Factor an (n, n) matrix, of which only the upper triangle is read.

        Raises:
            numpy.linalg.LinAlgError: it is not positive definite.
        """
        upper = np.asarray(np.linalg.cholesky(matrix.T).T, np.float64)
        starts = range(0, len(upper), BLOCK)
        blocks = (upper[start : start + BLOCK, start : start + BLOCK] for start in starts)
        return cls(upper, [np.asarray(np.linalg.inv(block), np.float64) for block in blocks])

    def solve(self, right: Matrix) -> Matrix:
        """Return the solution for a right side of shape (n,) or (n, columns)."""
        solution = right.astype(np.float64)
        blocks = [(BLOCK * place, BLOCK * place + len(corner), corner) for place, corner in enumerate(self.corners)]
        for start, end, corner in blocks:
            solution[start:end] = corner.T @ (solution[start:end] - self.upper[:start, start:end].T @ solution[:start])
        for start, end, corner in reversed(blocks):
            solution[start:end] = corner @ (solution[start:end] - self.upper[start:end, end:] @ solution[end:])
        return solution

    def inverse(self) -> Matrix:
        """Return the inverse of `upper`, which times its transpose is the inverse of the matrix."""
        return _inverse(self.upper, self.corners) if self.corners else self.upper


def _inverse(upper: Matrix, corners: Sequence[Matrix]) -> Matrix:
    if len(corners) == 1:
        return corners[0]
    half = len(corners) // 2
    cut = BLOCK * half
    inverse = np.zeros(upper.shape)
    inverse[:cut, :cut] = head = _inverse(upper[:cut, :cut], corners[:half])
    inverse[cut:, cut:] = tail = _inverse(upper[cut:, cut:], corners[half:])
    inverse[:cut, cut:] = head @ (upper[:cut, cut:] @ -tail)
    return inverse


def outer_products(places: Ints, values: Vector, size: int) -> Matrix:
    """Return the sum of the outer products of sparse vectors with themselves: a (size, size) matrix, upper triangle.

    `places` (vectors, k): the indices of the non-zero entries, different within a row. `values` (vectors, k): these
    entries.
    """
    total = np.zeros(size * size)
    length = places.shape[1]
    step = max(1, CHUNK // length**2)
    for start in range(0, len(places) if length > 1 else 0, step):
        where, what = (np.ascontiguousarray(array[start : start + step].T) for array in (places, values))
        pairs = [(where[:index], where[index], what[:index] * what[index]) for index in range(1, length)]
        keys = np.concatenate([(np.minimum(a, b) * size + np.maximum(a, b)).ravel() for a, b, _ in pairs])
        products = np.concatenate([product.ravel() for _, _, product in pairs])
        total += np.bincount(keys, products, minlength=size * size)
    total[:: size + 1] += np.bincount(places.ravel(), (values**2).ravel(), minlength=size)
    return total.reshape(size, size)


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


class _Concave(Protocol):
    """A function with one maximum."""

    def gradient(self, at: Vector, /) -> Vector:
        """Return the gradient at a point, of shape (n,)."""

    def curvature(self, at: Vector, /) -> Matrix:
        """Return the negative Hessian, (n, n). Only its upper triangle is read."""


class NoMaximum(Exception):
    """The function grows forever in some direction."""


def maximum(function: _Concave, start: Vector) -> Vector:
    """Return the point at which the function is largest. Raises NoMaximum."""
    point = start.copy()
    factor: Cholesky | None = None
    for _ in range(MOST_STEPS if len(point) else 0):
        if factor is None:
            try:
                factor = Cholesky.of(function.curvature(point))
            except LinAlgError as error:
                raise NoMaximum from error
        step = factor.solve(function.gradient(point))
        longest = float(np.max(np.abs(step)))
        point += step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
        if longest < CONVERGED:
            return point
        if longest > NEAR:
            factor = None
    if len(point):
        raise NoMaximum
    return point


# Restricts linear algebra to one thread.
# With a few hundred players, the library's threads cost more than they save: on a busy machine with two CPUs, a table
# of 200 players took 140 to 500 ms of CPU time with two threads and 22 ms with one. One thread also adds in the same
# order on every machine. `threadpoolctl` does this for all libraries, but authors would have to install it.

SPELLINGS = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")
"""The names of OpenBLAS's functions: in numpy's own wheels, with wide integers, and in distributions' builds."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Make numpy multiply matrices with one thread inside the block, if its library is OpenBLAS."""
    threads = _threads()
    if threads is None:
        yield
        return
    ask, choose = threads
    before = ask()
    choose(1)
    try:
        yield
    finally:
        choose(before)


@cache
def _threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions that read and set OpenBLAS's number of threads; None if numpy uses another library."""
    library = ctypes.CDLL(_umath_linalg.__file__)  # libraries that it is linked with are found through it
    for spelling in SPELLINGS:
        if hasattr(library, spelling.format("get")):
            return library[spelling.format("get")], library[spelling.format("set")]
    return None
