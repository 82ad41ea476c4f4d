"""Restricts linear algebra to one thread.

With a few hundred players, the library's threads cost more than they save: on a busy machine with two CPUs, a table of
200 players took 140 to 500 ms of CPU time with two threads and 22 ms with one. One thread also adds in the same order
on every machine. `threadpoolctl` does this for all libraries, but authors would have to install it.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from numpy.linalg import _umath_linalg

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
