"""Pairs of versions, lots drawn from a seed, and the parts of a field that games link."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

PairKey = tuple[int, int]
"""Two versions, the smaller number first."""


def pair_key(player: int, other: int) -> PairKey:
    """Return the pair of two different versions."""
    assert player != other
    return (player, other) if player < other else (other, player)


def lot(seed: bytes, *numbers: int) -> int:
    """Draw a 64-bit number for these numbers: the first 8 bytes of SHA-256 of the seed and of each number as 8 bytes.

    Anybody who knows the seed can draw it again in any language; nobody else can foresee it.
    """
    drawn = hashlib.sha256(seed + b"".join(number.to_bytes(8, "big") for number in numbers)).digest()
    return int.from_bytes(drawn[:8], "big")


def parts(
    versions: Iterable[int], tables: Iterable[Sequence[int]], known: Mapping[int, int] | None = None
) -> dict[int, int]:
    """Return each version's part. Two versions share one if tables link them, directly or through others.

    `known`: the result of an earlier call, perhaps with other versions; its links hold too.
    """
    above = dict(known or {})

    def top(version: int) -> int:
        while (higher := above.setdefault(version, version)) != version:
            above[version] = above.setdefault(higher, higher)  # halves the path for later look-ups
            version = higher
        return version

    for first, *others in tables:
        for other in others:
            its_top, other_top = top(first), top(other)
            above[max(its_top, other_top)] = min(its_top, other_top)
    return {version: top(version) for version in {*versions, *above}}
