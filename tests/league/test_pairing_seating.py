"""Seats, deals, and the games that tell neighbours apart."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.figures import NORMAL_95
from deadheat.league.pairing.finals import ELO_PER_NAT, Gap, games_to_part, share_out
from deadheat.league.pairing.seating import Seating, rotations, seatings, whole_turns

pytestmark = pytest.mark.quick


def seated(matches: Sequence[Seating]) -> Counter[tuple[int, int]]:
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


def after(covariance: np.ndarray, one: int, other: int, games: int, difference_elo: float) -> float:
    """Return the variance of a difference after more games, by adding them to the information matrix."""
    p = 1 / (1 + 10 ** (-difference_elo / 400))
    contrast = np.zeros(len(covariance))
    contrast[one], contrast[other] = 1, -1
    information = np.linalg.inv(covariance) + games * p * (1 - p) / ELO_PER_NAT**2 * np.outer(contrast, contrast)
    return float(contrast @ np.linalg.inv(information) @ contrast)


def unseparated(elo: Sequence[float], covariance: np.ndarray) -> list[Gap]:
    """Return the pairs of neighbours that still need games, from the top of the ranking."""
    pairs = [(above, above + 1) for above in range(len(elo) - 1)]
    variances = [covariance[a, a] + covariance[b, b] - 2 * covariance[a, b] for a, b in pairs]
    found = [
        (a, b, games_to_part(elo[a] - elo[b], float(v), 10_000)) for (a, b), v in zip(pairs, variances, strict=True)
    ]
    return [Gap(above, below, games) for above, below, games in found if games]


def test_a_pair_that_is_apart_needs_no_games() -> None:
    assert games_to_part(100, 2 * 25.0**2, 1000) == 0


@given(st.floats(5, 300), st.floats(10, 150), st.floats(-0.5, 0.9))
def test_as_many_games_as_asked_for_would_do_and_one_less_would_not(difference: float, se: float, link: float) -> None:
    covariance = np.array([[1, link, 0.1], [link, 1, 0], [0.1, 0, 1]]) * se**2
    before = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    games = games_to_part(difference, before, 10**9)
    if games == 0:
        assert difference > NORMAL_95 * before**0.5
        return
    assert difference >= NORMAL_95 * after(covariance, 0, 1, games, difference) ** 0.5 * (1 - 1e-9)
    assert difference <= NORMAL_95 * after(covariance, 0, 1, games - 1, difference) ** 0.5 * (1 + 1e-9)


def test_equals_need_whatever_the_cap_is() -> None:
    assert (games_to_part(0, 100, 500), games_to_part(1e-9, 100, 500)) == (500, 500)


def test_a_budget_is_shared_out_by_the_series_from_the_top() -> None:
    gaps = [Gap(1, 2, 500), Gap(2, 3, 4), Gap(5, 6, 50)]
    assert share_out(gaps, 100, 10) == [Gap(1, 2, 10), Gap(2, 3, 4), Gap(5, 6, 10)]
    assert share_out(gaps, 12, 10) == [Gap(1, 2, 10), Gap(2, 3, 2)]
    assert share_out(gaps, 0, 10) == share_out([], 10, 10) == []


def test_only_whole_turns_are_shared_out() -> None:
    gaps = [Gap(1, 2, 500), Gap(2, 3, 1), Gap(5, 6, 50)]
    assert share_out(gaps, 100, 10, 4) == [Gap(1, 2, 8), Gap(2, 3, 4), Gap(5, 6, 8)]
    assert share_out(gaps, 11, 10, 4) == [Gap(1, 2, 8)]
    assert share_out(gaps, 12, 2, 4) == [Gap(1, 2, 4), Gap(2, 3, 4), Gap(5, 6, 4)]
    assert share_out(gaps, 3, 10, 4) == []


@given(st.integers(0, 2**32 - 1), st.integers(0, 3000))
def test_playing_what_is_shared_out_ends_with_everyone_apart_or_the_budget_spent(seed: int, budget: int) -> None:
    """The games change the covariance but not the ratings."""
    chance = np.random.default_rng(seed)
    elo = sorted(chance.normal(0, 150, 6), reverse=True)
    covariance = np.diag(chance.uniform(20, 80, 6) ** 2)
    while shared := share_out(unseparated(elo, covariance), budget, 10):
        for gap in shared:
            budget -= gap.games
            p = 1 / (1 + 10 ** (-(elo[gap.above] - elo[gap.below]) / 400))
            contrast = np.zeros(6)
            contrast[gap.above], contrast[gap.below] = 1, -1
            weight = gap.games * p * (1 - p) / ELO_PER_NAT**2
            covariance = np.linalg.inv(np.linalg.inv(covariance) + weight * np.outer(contrast, contrast))
        assert budget >= 0
    assert budget == 0 or not unseparated(elo, covariance)
