"""Draws and standings of evaluations are compared with a second, naive implementation."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadheat.league.pairing.contest import draw
from deadheat.league.pairing.contest import placed as placed_by
from deadheat.league.pairing.figures import CHOICE, NEWEST, figures
from deadheat.league.pairing.rounds import berger
from deadheat.league.states import EvaluationFormat
from tests.league.meetings import Pair

Played = list[Pair]


def played_swiss(players: int, rounds: int, games: int, chance: random.Random, leaving: float = 0.0) -> Played:
    """Play a Swiss with random results; in each round each player may leave for good."""
    seeded = list(range(1, players + 1))
    present, meetings = set(seeded), list[Pair]()
    for number in range(1, rounds + 1):
        present = {player for player in present if chance.random() >= leaving}
        pairs, byes = draw(seeded, present, meetings)
        check_round(seeded, present, meetings, pairs, *byes)
        for first, second in pairs:
            halves = [chance.choice([0, 1, 2]) for _ in range(games)]
            lost_by_us = chance.random() < 0.05
            mine = 0.0 if lost_by_us else sum(halves) / 2
            meetings.append(Pair(number, first, second, mine, 0.0 if lost_by_us else games - mine))
        meetings += [Pair(number, bye, None, float(games)) for bye in byes]
    return meetings


def score(meetings: Played, player: int) -> Fraction:
    return sum((points for _, _, points in course(meetings, player)), Fraction())


def course(meetings: Played, player: int) -> list[tuple[int, int | None, Fraction]]:
    """Return a player's rounds, each with the opponent and the points."""
    found = []
    for one in meetings:
        if one.first == player:
            found.append((one.round, one.second, Fraction(one.first_points)))
        if one.second == player:
            found.append((one.round, one.first, Fraction(one.second_points)))
    return found


def cumulative(meetings: Played, player: int) -> Fraction:
    """Return the sum of the scores that a player had after each round."""
    last = max((one.round for one in meetings), default=0)
    return sum((score([m for m in meetings if m.round <= number], player) for number in range(1, last + 1)), Fraction())


def opponents(meetings: Played, player: int) -> list[int]:
    return [other for _, other, _ in course(meetings, player) if other is not None]


def won_outright(meetings: Played, player: int) -> int:
    return sum(
        one.second is not None
        and (
            (one.first == player and one.first_points > one.second_points)
            or (one.second == player and one.second_points > one.first_points)
        )
        for one in meetings
    )


Figure = Callable[[Played, int], Fraction | int]

FIGURES: dict[str, Figure] = {
    "rounds_won": won_outright,
    "opponents_points": lambda played, player: sum(score(played, other) for other in opponents(played, player)),
    "early_points": cumulative,
    "opponents_early_points": lambda played, player: sum(cumulative(played, o) for o in opponents(played, player)),
    "sonneborn_berger": lambda played, player: sum(
        points * score(played, other) for _, other, points in course(played, player) if other is not None
    ),
}
SWISS = ("rounds_won", "opponents_points", "early_points", "opponents_early_points")

Naive = list[tuple[int, tuple[Fraction | int, ...]]]


def naive(seeded: Sequence[int], played: Played, *ties: str) -> Naive:
    """Return the players in order of place, each with points, tie-break figures and (negated) seed."""
    found: Naive = [
        (player, (score(played, player), *(FIGURES[name](played, player) for name in ties), -seed))
        for seed, player in enumerate(seeded)
    ]
    return sorted(found, key=lambda item: item[1], reverse=True)


def naive_swiss(seeded: Sequence[int], meetings: Played) -> Naive:
    return naive(seeded, meetings, *SWISS)


def naive_round_robin(seeded: Sequence[int], meetings: Played) -> Naive:
    return naive(seeded, meetings, "sonneborn_berger")


def check_round(
    seeded: Sequence[int],
    present: set[int],
    before: Played,
    pairs: Sequence[tuple[int, ...]],
    bye: int | None = None,
) -> None:
    """Check, one player after the other, that a round follows the rule."""
    left = sorted((p for p in seeded if p in present), key=lambda p: (-score(before, p), seeded.index(p)))
    assert sorted([*(p for pair in pairs for p in pair), *([] if bye is None else [bye])]) == sorted(left)
    assert (bye is not None) == (len(left) % 2 == 1)
    if bye is not None:
        byes = {p: sum(one.first == p and one.second is None for one in before) for p in left}
        fewest = [p for p in left if byes[p] == min(byes.values())]
        lowest = [p for p in fewest if score(before, p) == min(score(before, q) for q in fewest)]
        assert bye == max(lowest, key=seeded.index)
        left.remove(bye)
    for pair in pairs:
        top, *others = left
        times = [opponents(before, top).count(other) for other in others]
        assert set(pair) == {top, others[times.index(min(times))]}
        left = [p for p in left if p not in pair]


@settings(deadline=None, max_examples=60)
@given(
    players=st.integers(2, 14),
    rounds=st.integers(1, 8),
    games=st.integers(1, 3),
    seed=st.integers(0, 2**32),
    leaving=st.sampled_from([0.0, 0.05]),
)
def test_a_swiss_is_drawn_and_placed_as_the_rule_says(
    players: int, rounds: int, games: int, seed: int, leaving: float
) -> None:
    seeded = list(range(1, players + 1))
    meetings = played_swiss(players, rounds, games, random.Random(seed), leaving)
    placed = placed_by(figures(EvaluationFormat.SWISS, NEWEST), seeded, meetings)
    assert [(one.player, tuple(one.figures.values())) for one in placed] == [
        (player, found[:-1]) for player, found in naive_swiss(seeded, meetings)
    ]
    assert [one.place for one in placed] == list(range(1, players + 1))


@settings(deadline=None, max_examples=40)
@given(players=st.integers(2, 9), games=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_a_round_robin_is_placed_as_the_rule_says(players: int, games: int, seed: int) -> None:
    chance = random.Random(seed)
    seeded = chance.sample(range(1, 100), players)
    meetings = []
    for number, rnd in enumerate(berger(seeded), 1):
        for first, second in rnd.pairs:
            mine = sum(chance.choice([0, 1, 2]) for _ in range(games)) / 2
            meetings.append(Pair(number, first, second, mine, games - mine))
    placed = placed_by(figures(EvaluationFormat.ROUND_ROBIN, NEWEST), seeded, meetings)
    assert [(one.player, tuple(one.figures.values())) for one in placed] == [
        (player, found[:-1]) for player, found in naive_round_robin(seeded, meetings)
    ]


@settings(deadline=None, max_examples=40)
@given(chosen=st.lists(st.sampled_from(list(CHOICE)), min_size=1, unique=True), seed=st.integers(0, 2**32))
def test_ties_are_broken_by_what_was_chosen_in_that_order(chosen: list[str], seed: int) -> None:
    seeded = list(range(1, 8))
    meetings = played_swiss(7, 4, 1, random.Random(seed))
    placed = placed_by(figures(EvaluationFormat.SWISS, NEWEST, chosen), seeded, meetings)
    assert [one.player for one in placed] == [player for player, _ in naive(seeded, meetings, *chosen)]


def test_the_first_round_pairs_the_best_with_the_next_and_gives_the_weakest_the_bye() -> None:
    assert draw([7, 5, 3, 9, 1], {1, 3, 5, 7, 9}, []) == ([(7, 5), (3, 9)], (1,))


@pytest.mark.parametrize("players", [0, 1])
def test_a_field_without_a_pair_has_no_pairs(players: int) -> None:
    assert draw([1, 2], set(range(1, players + 1)), []) == ([], (1,) * players)


def test_the_player_that_began_more_often_sits_second() -> None:
    met = [Pair(1, 1, 2, 1.0), Pair(1, 3, 4, 1.0)]
    ((first, second), _), _ = draw([1, 3, 2, 4], {1, 2, 3, 4}, [*met, Pair(2, 1, 4, 0.0, 0.0)])
    assert (first, second) == (3, 1)
