"""Two versions that meet, and lots drawn from a seed."""

from __future__ import annotations

import hashlib

PairKey = tuple[int, int]
"""Two versions, the smaller number first."""


def pair_key(one: int, other: int) -> PairKey:
    """The pair of two different versions."""
    assert one != other
    return (one, other) if one < other else (other, one)


def lot(seed: bytes, *numbers: int) -> int:
    """A number of 64 bits drawn for these numbers: SHA-256 of the seed and of each as 8 bytes, its first 8 bytes.

    Whoever knows the seed can draw it again in any language; nobody else can foresee it.
    """
    drawn = hashlib.sha256(seed + b"".join(number.to_bytes(8, "big") for number in numbers)).digest()
    return int.from_bytes(drawn[:8], "big")
