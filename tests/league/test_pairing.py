"""Who plays next."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from league.pairing import PairKey, propose

SEED = b"seed"


def run(
    versions: list[int], games: dict[PairKey, int], wanted: int, length: int = 2, most: int | None = None
) -> Counter[PairKey]:
    """The games planned by one call."""
    planned: Counter[PairKey] = Counter()
    for pair, count in propose(versions, games, wanted, length, most, SEED):
        planned[pair] += count
    return planned


def test_every_pair_plays_once_before_any_plays_twice() -> None:
    planned = run([1, 2, 3, 4, 5], {}, 10)
    assert len(planned) == 10
    assert set(planned.values()) == {2}


def test_the_pair_that_has_played_least_comes_first() -> None:
    assert list(run([1, 2, 3], {(1, 2): 4, (1, 3): 4, (2, 3): 2}, 1)) == [(2, 3)]


def test_of_equal_pairs_the_bots_that_have_played_least_come_first() -> None:
    games = {(1, 2): 10, (1, 3): 10, (2, 3): 10, (3, 4): 10}
    assert list(run([1, 2, 3, 4, 5], games, 1)) == [(4, 5)]


def test_no_pair_gets_more_than_its_share() -> None:
    assert run([1, 2, 3], {(1, 2): 5}, 100, 2, 5) == {(1, 3): 5, (2, 3): 5}


def test_all_had_their_share_means_nothing_to_play() -> None:
    assert propose([1, 2], {(1, 2): 4}, 5, 2, 4, SEED) == []
    assert propose([1], {}, 5, 2, None, SEED) == []
    assert propose([], {}, 5, 2, None, SEED) == []


def test_a_seed_decides_what_is_left_to_chance() -> None:
    versions = list(range(1, 30))
    assert propose(versions, {}, 5, 2, None, b"a") == propose(versions[::-1], {}, 5, 2, None, b"a")
    assert propose(versions, {}, 5, 2, None, b"a") != propose(versions, {}, 5, 2, None, b"b")


@given(st.integers(2, 9), st.integers(1, 60), st.integers(1, 5))
def test_nobody_starves(bots: int, wanted: int, length: int) -> None:
    versions = list(range(1, bots + 1))
    planned = run(versions, {}, wanted, length)
    pairs = [planned[(low, high)] for low in versions for high in versions if low < high]
    assert sum(pairs) == wanted * length
    assert max(pairs) - min(pairs) <= length
    each = [sum(count for pair, count in planned.items() if version in pair) for version in versions]
    assert max(each) - min(each) <= 2 * length
