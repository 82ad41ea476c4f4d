"""Who plays next: pure, and the same for the same seed.

Each place goes to the pair that has played least; among those, to the pair whose two bots have together played
least (a new bot catches up first); what remains equal is decided by a hash of the seed, so no bot is favoured by
its number. A pair's count goes up as it is chosen, hence one call never chooses a pair twice while another waits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from league.pairing.pairs import PairKey


def propose(
    versions: Sequence[int],
    games: Mapping[PairKey, int],
    wanted: int,
    series_length: int,
    games_per_pair: int | None,
    seed: bytes,
) -> list[tuple[PairKey, int]]:
    """At most `wanted` series: pairs, and how many games each is to play.

    `games` holds what is already planned or played; missing pairs have none. No pair gets more than
    `games_per_pair` in all, so a last series may be short, and the list shorter than wanted.
    """
    planned = dict.fromkeys(versions, 0)
    for (low, high), count in games.items():
        for version in (low, high):
            if version in planned:
                planned[version] += count
    ordered = sorted(planned)
    heap = [
        (games.get((low, high), 0), planned[low] + planned[high], _lot(seed, low, high), low, high)
        for position, low in enumerate(ordered)
        for high in ordered[position + 1 :]
    ]
    heapify(heap)
    chosen: list[tuple[PairKey, int]] = []
    while heap and len(chosen) < wanted:
        count, both, lot, low, high = heappop(heap)
        if games_per_pair is not None and count >= games_per_pair:
            break  # the least played pair has had its share, so every pair has
        if both != planned[low] + planned[high]:  # went stale while it waited: it goes back with today's count
            heappush(heap, (count, planned[low] + planned[high], lot, low, high))
            continue
        length = series_length if games_per_pair is None else min(series_length, games_per_pair - count)
        chosen.append(((low, high), length))
        planned[low] += length
        planned[high] += length
        heappush(heap, (count + length, planned[low] + planned[high], lot, low, high))
    return chosen


def _lot(seed: bytes, low: int, high: int) -> bytes:
    return hashlib.sha256(seed + low.to_bytes(8, "big") + high.to_bytes(8, "big")).digest()[:8]
