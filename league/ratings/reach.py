"""Connected parts of graphs. A graph is an (n, n) matrix of truth values, no larger than the ratings' own matrices."""

from __future__ import annotations

import numpy as np

from deadheat.league.ratings.arrays import Bools, Ints


def graph(tails: Ints, heads: Ints, size: int) -> Bools:
    """Return the (size, size) matrix of edges: [i, j] says whether an edge leads from i to j."""
    near = np.zeros((size, size), bool)
    near[tails, heads] = True
    return near


def reached(near: Bools, start: int) -> Bools:
    """Return the places, (n,), to which edges lead from `start`, and that place itself."""
    found = np.zeros(len(near), bool)
    found[start] = True
    newest = np.array([start])
    while len(newest):
        new = near[newest].any(axis=0) & ~found
        found |= new
        newest = np.flatnonzero(new)
    return found


def components(near: Bools) -> Ints:
    """Return a number for each place, (n,), equal for places that a symmetric graph connects."""
    labels = np.full(len(near), -1)
    for place in range(len(near)):
        if labels[place] < 0:
            labels[reached(near, place)] = place
    return labels


def all_reach_all(near: Bools) -> bool:
    """Say whether edges lead from every place to every other."""
    return not len(near) or bool(reached(near, 0).all() and reached(np.ascontiguousarray(near.T), 0).all())
