"""A trained network as a file for an upload: its weights, and the few lines of Python that use them.

There is no NumPy where bots are judged. The file that `write` makes needs the standard library only.
"""

from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Layer = tuple[NDArray[Any], NDArray[Any]]
"""Weights, a row for each number that goes in and a column for each that comes out, and a bias for each column."""

SOURCE = '''"""A network of {sizes} numbers. deadheat.training.export wrote it; it needs the standard library only."""

from base64 import b64decode
from operator import mul
from struct import iter_unpack

WEIGHTS = """
{weights}
"""
# Numbers of 32 bits, the low byte first. For every number that comes out of a layer: a row of weights, then the bias.


def _read():
    numbers = iter_unpack("<f", b64decode(WEIGHTS))
    for ins, outs in {pairs}:
        yield [(tuple(next(numbers)[0] for _ in range(ins)), next(numbers)[0]) for _ in range(outs)]


LAYERS = list(_read())


def forward(numbers):
    """Return what comes out when these numbers go in. What is negative between two layers becomes 0 (ReLU)."""
    for rows in LAYERS[:-1]:
        sums = (sum(map(mul, row, numbers), bias) for row, bias in rows)
        numbers = [value if value > 0 else 0.0 for value in sums]
    return [sum(map(mul, row, numbers), bias) for row, bias in LAYERS[-1]]
'''


def write(file: Path, layers: Sequence[Layer]) -> None:
    """Write a network of linear layers, with a ReLU between each two, as a Python module with a function `forward`.

    One layer is a linear model. Numbers are rounded to 32 bits.

    Raises:
        ValueError: there is no layer, one does not fit the one before it, or a number is not finite.
    """
    if not layers:
        raise ValueError("a network has at least one layer")
    sizes = [layers[0][0].shape[0], *(len(bias) for _, bias in layers)]
    parts = []
    for (weights, bias), shape in zip(layers, pairwise(sizes), strict=True):
        if weights.shape != shape or bias.ndim != 1:
            raise ValueError(f"weights of the shape {weights.shape} do not fit: {shape} was expected")
        parts.append(np.column_stack([weights.T, bias]).ravel())
    numbers = np.concatenate(parts).astype("<f4")
    if not np.isfinite(numbers).all():
        raise ValueError("a weight is not finite")
    text = "\n".join(wrap(b64encode(numbers.tobytes()).decode("ascii"), 100))
    said, pairs = ", ".join(map(str, sizes)), tuple(pairwise(sizes))
    file.write_text(SOURCE.format(sizes=said, pairs=pairs, weights=text), encoding="ascii")
