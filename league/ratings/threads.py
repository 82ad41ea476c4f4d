"""One thread for linear algebra.

With a few hundred players, threads of the library cost more than they save: on a busy machine of two CPUs a Cholesky
factor of 200 players took 64 ms of CPU time with two threads and 1 ms with one. Sums are also added in the same order
on every machine.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looking for them takes a few milliseconds


def one_thread() -> AbstractContextManager[object]:
    """Inside, numpy and scipy multiply matrices with one thread."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited
