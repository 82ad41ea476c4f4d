"""Series are seated evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, permutations

import pytest

from deadheat.league.pairing.seating import Seating, rotations, seatings, whole_turns

pytestmark = pytest.mark.quick


def seated(matches: Sequence[Seating]) -> Counter[tuple[int, int]]:
    """Count how often each version has each seat."""
    return Counter((version, seat) for match in matches for seat, version in enumerate(match.seats))


def test_two_take_turns_with_dice_of_their_own() -> None:
    found = seatings([7, 3], 5, seed=b"")
    assert [match.seats for match in found] == [(7, 3), (3, 7), (7, 3), (3, 7), (7, 3)]
    assert [match.deal for match in found] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("matches", [1, 4, 7, 30])
def test_seats_differ_by_at_most_one(size: int, matches: int) -> None:
    found = seatings(range(size), matches, seed=b"x")
    assert [match.deal for match in found] == list(range(matches))
    assert balanced(found, size)


def balanced(matches: Sequence[Seating], size: int) -> bool:
    """Return whether everybody has each seat equally often, give or take one match."""
    found = seated(matches)
    counts = [[found[version, seat] for seat in range(size)] for version in matches[0].seats]
    return all(max(row) - min(row) <= 1 for row in counts)


def test_two_play_each_deal_from_both_sides_and_never_in_one_series() -> None:
    first, second = rotations([7, 3], 4, seed=b"")
    assert {(match.seats, match.deal) for match in first} == {((7, 3), 0), ((3, 7), 1), ((7, 3), 2), ((3, 7), 3)}
    assert {(match.seats, match.deal) for match in second} == {((3, 7), 0), ((7, 3), 1), ((3, 7), 2), ((7, 3), 3)}


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("deals", [1, 2, 3, 7, 25])
def test_no_two_rotations_of_a_deal_are_in_one_series(size: int, deals: int) -> None:
    """A bot that keeps state between the matches of a series never meets the same dice there."""
    versions = list(range(10, 10 + size))
    for seed in range(20):
        found = rotations(versions, deals, seed=bytes([seed]))
        assert len(found) == size
        for series in found:
            assert sorted(match.deal for match in series) == list(range(deals))
            assert balanced(series, size)
        for deal in range(deals):
            rotated = [match for series in found for match in series if match.deal == deal]
            assert seated(rotated) == {(version, seat): 1 for version in versions for seat in range(size)}


@pytest.mark.parametrize("deals", [3, 4, 10])
def test_a_series_does_not_begin_with_the_deal_that_the_one_before_ended_with(deals: int) -> None:
    for seed in range(200):
        for before, after in pairwise(rotations([1, 2, 3, 4], deals, seed=bytes([seed]))):
            assert before[-1].deal != after[0].deal


def test_the_orders_of_the_deals_are_drawn_for_each_series() -> None:
    """Every order follows every order that may precede it."""
    orders: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for seed in range(2000):
        found = rotations([1, 2], 3, seed=seed.to_bytes(2))
        orders[tuple(tuple(match.deal for match in series) for series in found)] += 1
    all_orders = list(permutations(range(3)))
    possible = {(one, other) for one in all_orders for other in all_orders if one[-1] != other[0]}
    assert (set(orders), rotations([1, 2], 3, seed=b"x")) == (possible, rotations([1, 2], 3, seed=b"x"))


def test_all_pairs_of_neighbours_are_about_as_frequent() -> None:
    """Over 200 turns at a table of four, each of the 12 ordered pairs of neighbours is expected 200 times."""
    for found in (seatings([1, 2, 3, 4], 800, seed=b"x"), rotations([1, 2, 3, 4], 800, seed=b"x")[2]):
        follows = Counter(pair for match in found for pair in pairwise(match.seats))
        assert set(follows) == set(permutations([1, 2, 3, 4], 2))
        assert min(follows.values()) > 0.7 * 200
    assert seatings([1, 2, 3, 4], 8, seed=b"x") == seatings([1, 2, 3, 4], 800, seed=b"x")[:8]
    assert seatings([1, 2, 3, 4], 800, seed=b"y") != seatings([1, 2, 3, 4], 800, seed=b"x")


def test_a_group_is_never_cut() -> None:
    assert ([whole_turns(10, seats) for seats in (2, 3, 4, 6)], whole_turns(1, 4)) == ([10, 9, 8, 6], 4)
