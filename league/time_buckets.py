"""Response times (own time, ruling C-03) against their limits, as counts in buckets that can be added up.

Bucket k holds answers that used at most 2^(k/8 - 10) of their limit: eight per doubling, so a share read from them is
at most 9 % too large, from a thousandth of the limit (bucket 0 and all below) to twice the limit (`LAST`, and all
above).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil, log2

PER_DOUBLING = 8
DOUBLINGS = 10  # below the limit
LAST = PER_DOUBLING * (DOUBLINGS + 1)

Counts = Mapping[int, int]
"""The number of answers by bucket, without empty buckets."""


def bucket(own_ns: int, limit_ns: int) -> int:
    """Return the bucket of an answer that took this much own time."""
    most_ns = max(1, limit_ns)
    if own_ns << DOUBLINGS <= most_ns:  # most answers: their share needs no logarithm
        return 0
    place = PER_DOUBLING * (log2(own_ns / most_ns) + DOUBLINGS)
    return min(max(ceil(place), 0), LAST)


def edge(place: int) -> float:
    """Return the largest share of the limit in a bucket."""
    return float(2.0 ** (place / PER_DOUBLING - DOUBLINGS))


def added(parts: Iterable[Counts]) -> Counter[int]:
    """Add up the counts of several parts."""
    total: Counter[int] = Counter()
    for part in parts:
        total.update(part)
    return total


def stored_sum(stored: Mapping[str, int], *more: Counts) -> dict[str, int]:
    """Add counts to those that a row has, and return them as it has them."""
    total = added([{int(place): count for place, count in stored.items()}, *more])
    return {str(place): count for place, count in sorted(total.items())}


def percentile(counts: Counts, share: float) -> float | None:
    """Return the share of the limit that this part of the answers (0 to 1) did not exceed; None without answers."""
    wanted = share * sum(counts.values())
    seen = 0
    for place in sorted(counts):
        seen += counts[place]
        if seen and seen >= wanted:
            return edge(place)
    return None


def late_share(counts: Counts, part: float) -> float:
    """Return the share of answers that would be late with `part` of the limit, or if everything took 1 / `part` times
    as long. Buckets are counted whole, so it is too large by at most the share of answers within 9 % of the new limit.
    """
    late = sum(count for place, count in counts.items() if edge(place) > part)
    return late / sum(counts.values()) if counts else 0.0


def bars(counts: Counts) -> list[int]:
    """Return a height for each doubling up to the limit and one for all above it: 0, or 1 to 9 (9: the fullest)."""
    heights = [0] * (DOUBLINGS + 2)
    for place, count in counts.items():
        heights[min(-(-place // PER_DOUBLING), DOUBLINGS + 1)] += count
    most = max(heights)
    return [ceil(9 * height / most) if height else 0 for height in heights]
