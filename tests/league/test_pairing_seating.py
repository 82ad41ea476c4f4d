"""Who sits where in a series."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

from league.pairing import seatings, whole_turns


def test_two_take_turns_with_dice_of_their_own() -> None:
    found = seatings([7, 3], 5, same_deals=False, seed=b"")
    assert [match.seats for match in found] == [(7, 3), (3, 7), (7, 3), (3, 7), (7, 3)]
    assert [match.group for match in found] == [0, 1, 2, 3, 4]


def test_two_play_each_deal_from_both_sides() -> None:
    found = seatings([7, 3], 4, same_deals=True, seed=b"")
    assert [(match.seats, match.group) for match in found] == [((7, 3), 0), ((3, 7), 0), ((7, 3), 1), ((3, 7), 1)]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_everybody_has_every_seat_once_in_each_group(size: int) -> None:
    versions = list(range(10, 10 + size))
    found = seatings(versions, 3 * size, same_deals=True, seed=b"x")
    assert [match.group for match in found] == [number // size for number in range(3 * size)]
    for group in range(3):
        seats = Counter(
            (version, seat) for match in found if match.group == group for seat, version in enumerate(match.seats)
        )
        assert seats == {(version, seat): 1 for version in versions for seat in range(size)}


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("matches", [1, 4, 7, 30])
def test_seats_differ_by_at_most_one(size: int, matches: int) -> None:
    versions = list(range(size))
    found = seatings(versions, matches, same_deals=False, seed=b"x")
    assert [match.group for match in found] == list(range(matches))
    seats = Counter((version, seat) for match in found for seat, version in enumerate(match.seats))
    for version in versions:
        counts = [seats[version, seat] for seat in range(size)]
        assert max(counts) - min(counts) <= 1


def test_who_follows_whom_changes() -> None:
    """Over 200 turns at a table of four each of the 12 ordered pairs of neighbours is as frequent as the others."""
    found = seatings([1, 2, 3, 4], 800, same_deals=True, seed=b"x")
    follows = Counter(pair for match in found for pair in zip(match.seats, match.seats[1:], strict=False))
    assert set(follows) == set(permutations([1, 2, 3, 4], 2))
    assert min(follows.values()) > 0.7 * 200
    assert seatings([1, 2, 3, 4], 8, same_deals=True, seed=b"x") == found[:8]
    assert seatings([1, 2, 3, 4], 800, same_deals=True, seed=b"y") != found


def test_a_group_is_never_cut() -> None:
    assert [whole_turns(10, seats) for seats in (2, 3, 4, 6)] == [10, 9, 8, 6]
    assert whole_turns(1, 4) == 4
    with pytest.raises(AssertionError):
        seatings([1, 2, 3], 4, same_deals=True, seed=b"")
