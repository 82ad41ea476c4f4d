"""Names for the array types of this package. The shapes are in the docstrings of the other modules."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
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
