"""Names for the arrays that all modules of this package pass around; shapes are in the docstrings there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
