"""Ranks have ties and intervals, and come out the same for everybody who recomputes them."""

from __future__ import annotations

import numpy as np
import pytest

from deadheat.league.ratings import Place, Prior, RatingConfig, RatingTable, rate
from deadheat.league.ratings.places import places_of
from tests.league.logs import drawn_duels, duels, log

pytestmark = pytest.mark.quick

SHA = "5" * 64


def places(table: RatingTable) -> dict[str, Place]:
    return {entry.player: entry.place for entry in table.entries if entry.place is not None}


def test_a_player_far_ahead_is_certainly_first() -> None:
    found = places_of(np.array([0.0, 300.0, -300.0]), np.eye(3), SHA)
    assert [*zip(found.rank, found.low, found.high, strict=True)] == [(2, 2, 2), (1, 1, 1), (3, 3, 3)]


def test_ratings_that_are_shown_equal_share_a_place() -> None:
    assert places_of(np.array([1500.2, 1499.9, 1600, 1500.6, 1400]), np.eye(5), SHA).rank.tolist() == [3, 3, 1, 2, 5]


def test_equals_may_be_anywhere_among_themselves() -> None:
    found = places_of(np.zeros(4), 30 * np.eye(4), SHA)
    assert (found.rank.tolist(), found.low.tolist(), found.high.tolist()) == ([1] * 4, [1] * 4, [4] * 4)


def test_a_common_error_moves_nobodys_place() -> None:
    found = places_of(np.array([30.0, 20.0, 10.0]), np.hstack([500 * np.ones((3, 1)), 0.5 * np.eye(3)]), SHA)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 2, 3], [1, 2, 3])


def test_the_interval_leaves_out_a_fortieth_at_either_end() -> None:
    """With two players one deviation apart, the second is ahead in 16 % of the draws; with 2.2 deviations, in 1.4 %."""
    near = places_of(np.array([1.0, 0.0]), np.array([[1.0], [0.0]]), SHA)
    assert (near.low.tolist(), near.high.tolist()) == ([1, 1], [2, 2])
    far = places_of(np.array([2.2, 0.0]), np.array([[1.0], [0.0]]), SHA)
    assert (far.low.tolist(), far.high.tolist()) == ([1, 2], [1, 2])


def test_a_place_is_inside_its_interval() -> None:
    """The first of many near-equals is first in only a few of the draws."""
    found = places_of(np.random.default_rng(4).normal(0, 1, 300), 100 * np.eye(300), SHA)
    assert (found.low <= found.rank).all() and (found.rank <= found.high).all()
    assert found.low[np.argmin(found.rank)] == 1


def test_the_draws_are_seeded_by_the_log() -> None:
    elo, factor = np.random.default_rng(5).normal(0, 50, 40), 40 * np.eye(40)
    one, again, other = (places_of(elo, factor, sha) for sha in (SHA, SHA, "6" * 64))
    assert one.low.tolist() == again.low.tolist()
    assert (one.low.tolist(), one.high.tolist()) != (other.low.tolist(), other.high.tolist())


def test_a_table_ranks_each_field_by_itself() -> None:
    lines = [*duels("a", "b", 9, 1), *duels("b", "c", 9, 1), *duels("c", "d", 9, 1)]
    found = places(rate(log(lines), RatingConfig(), fields=[["a", "c"], ["b"]]))
    assert {player: place.rank for player, place in found.items()} == {"a": 1, "c": 2, "b": 1}
    assert (found["b"].low, found["b"].high, found["b"].gap_elo, found["b"].gap_se) == (1, 1, None, None)
    assert found["a"].gap_elo is not None and found["a"].gap_elo > 400


def test_a_newcomer_may_be_anywhere() -> None:
    table = rate(drawn_duels(np.random.default_rng(6), 20, 200).log, RatingConfig(), {"new": Prior()})
    place = places(table)["new"]
    assert place.low <= 2
    assert place.high >= 20
    assert max(place.high - place.low for player, place in places(table).items() if player != "new") < 12


def test_ranks_lie_in_their_intervals_as_often_as_they_should() -> None:
    chance = np.random.default_rng(7)
    inside = []
    for _ in range(6):
        drawn = drawn_duels(chance, 50, 60)
        true_rank = np.argsort(np.argsort(-drawn.truth_elo)) + 1
        found = places(rate(drawn.log, RatingConfig()))
        ranks = zip(drawn.names, true_rank, strict=True)
        inside += [found[name].low <= rank <= found[name].high for name, rank in ranks]
    assert np.mean(inside) == pytest.approx(0.96, abs=0.03)
