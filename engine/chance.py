"""The one source of randomness of a match, specified so that any language can re-implement it.

The stream is SHA-256 in counter mode: block *i* (i = 0, 1, 2, ...) is ``SHA-256(seed || i as 8 bytes, big-endian)`` and
the blocks' bytes are used in order. `below(n)` for 1 <= n <= 256 takes the next byte *b*; if ``b >= 256 - 256 mod n``
it is discarded and the next one is taken (so every value is equally likely); the value is ``b mod n``. Nothing else
draws from the stream. Fixed values are kept in tests/engine/test_chance.py.

A match's `commitment` is published when it is scheduled, and its seed with the transcript. It commits to a whole list
of seeds: a void attempt is replayed with the next one (`attempt_seed`, ruling C-16), so that nothing
learnt in it helps a bot.

A season's seeds follow from one secret (`season_seed`), whose commitment is published when the season opens, before
anybody knows the pairings, and which is itself published at the end. The keeper of the secret can foresee the dice but
cannot choose them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from typing import TypeVar

T = TypeVar("T")

SEED_BYTES = 16
SECRET_BYTES = 32


def commitment(seed: bytes) -> str:
    """Return the SHA-256 of a seed or secret in hexadecimal, published before the matches are played."""
    return hashlib.sha256(seed).hexdigest()


def season_seed(secret: bytes, deal: int) -> bytes:
    """Return the seed of the n-th deal of a season, n from 1: the first `SEED_BYTES` bytes of ``SHA-256("deadheat deal
    n" || secret)``, n in decimal.
    """
    assert deal >= 1
    return hashlib.sha256(b"deadheat deal %d" % deal + secret).digest()[:SEED_BYTES]


def attempt_seed(seed: bytes, attempt: int) -> bytes:
    """Return the seed of a match's n-th attempt, n from 1: for the first attempt the committed seed itself, for all
    others the first `SEED_BYTES` bytes of ``SHA-256("deadheat attempt n" || seed)``, n in decimal.
    """
    assert attempt >= 1
    if attempt == 1:
        return seed
    return hashlib.sha256(b"deadheat attempt %d" % attempt + seed).digest()[:SEED_BYTES]


def turns_seed(seed: bytes, attempt: int) -> bytes:
    """Return the seed of the order in which seats that are asked together think in a match's n-th attempt: the first
    `SEED_BYTES` bytes of ``SHA-256("deadheat turns n" || seed)``, n in decimal.
    """
    return hashlib.sha256(b"deadheat turns %d" % attempt + seed).digest()[:SEED_BYTES]


def seeds(text: str) -> Iterator[bytes]:
    """Yield seeds for matches outside a league, without end: equal texts give equal seeds.

    A text of 32 hexadecimal digits is the first match's seed itself. All others are the first `SEED_BYTES` bytes of
    ``SHA-256("text:n")``, n from 0 in decimal.
    """
    try:
        first = bytes.fromhex(text)
    except ValueError:
        first = b""
    for number in count():
        if number == 0 and len(first) == SEED_BYTES:
            yield first
        else:
            yield hashlib.sha256(f"{text}:{number}".encode("utf-8", "surrogateescape")).digest()[:SEED_BYTES]


_DIE = [byte % 6 + 1 for byte in range(252)] + [0] * 4
"""The die that each byte stands for; 0 if the byte is discarded."""


def _blocks(seed: bytes) -> Iterator[bytes]:
    for block in count():
        yield hashlib.sha256(seed + block.to_bytes(8, "big")).digest()


class Chance:
    """A reproducible stream of small random integers."""

    __slots__ = ("_dice", "_next")

    def __init__(self, seed: bytes) -> None:
        stream = chain.from_iterable(_blocks(seed))
        self._next = stream.__next__
        self._dice = filter(None, map(_DIE.__getitem__, stream))

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), 1 <= bound <= 256."""
        assert 1 <= bound <= 256
        limit = 256 - 256 % bound
        byte = self._next()
        while byte >= limit:
            byte = self._next()
        return byte % bound

    def dice(self, count: int) -> tuple[int, ...]:
        """Return `count` fair six-sided dice, in the order drawn: the same as ``below(6) + 1`` called `count` times."""
        return tuple(islice(self._dice, count))

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of at most 256 choices, each equally likely."""
        return choices[self.below(len(choices))]
