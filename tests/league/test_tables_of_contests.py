"""A Swiss at tables of three to six, and stages of it: draws and standings against the rules' text."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.pairing.contest import draw, placed
from deadheat.league.pairing.figures import NEWEST, Meeting, figures
from deadheat.league.pairing.rounds import points_taken
from deadheat.league.pairing.stages import stage_faults
from deadheat.league.pairing.tournament import Form, next_rounds, standings
from deadheat.league.states import EvaluationFormat, Ranks
from tests.lanes import examples

SWISS = EvaluationFormat.SWISS


def played(players: int, seats: int, rounds: int, seed: int, games: int = 2) -> list[Meeting]:
    """Play a Swiss in which a table's matches end in a random order."""
    chance = random.Random(seed)
    seeded = list(range(1, players + 1))
    met: list[Meeting] = []
    for number in range(1, rounds + 1):
        tables, byes = draw(seeded, set(seeded), met, seats)
        for table in tables:
            taken = Counter[int]()
            for _ in range(games):
                order = chance.sample(table, seats)
                taken.update(points_taken(dict(zip(order, range(1, seats + 1), strict=True)), (), Ranks.PLACEMENT))
            met.append(Meeting(number, table, tuple(float(taken[player]) for player in table)))
        met += [Meeting(number, (bye,), (float(games),)) for bye in byes]
    return met


@examples(60)
@given(players=st.integers(3, 20), seats=st.integers(3, 6), rounds=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_every_round_seats_everybody_once_and_whoever_sits_out_has_sat_out_least(
    players: int, seats: int, rounds: int, seed: int
) -> None:
    met = played(players, seats, rounds, seed)
    byes = Counter[int]()
    for number in range(1, rounds + 1):
        there = [one.players for one in met if one.round == number]
        assert sorted(player for table in there for player in table) == list(range(1, players + 1))
        out = [table[0] for table in there if len(table) == 1]
        assert len(out) == players % seats
        assert all(len(table) in {1, seats} for table in there)
        byes.update(out)
        assert (
            max(byes[player] for player in range(1, players + 1))
            <= min(byes[player] for player in range(1, players + 1)) + 1
        )


@examples(60)
@given(players=st.integers(6, 16), seats=st.integers(3, 4), rounds=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_each_seat_goes_to_the_first_whom_the_table_has_met_least(
    players: int, seats: int, rounds: int, seed: int
) -> None:
    met = played(players, seats, rounds, seed)
    seeded = list(range(1, players + 1))
    score: Counter[int] = Counter()
    for one in met:
        score.update(dict(zip(one.players, one.points, strict=True)))
    tables, byes = draw(seeded, set(seeded), met, seats)
    order = [player for player in sorted(seeded, key=lambda player: -round(score[player], 6)) if player not in byes]
    times = Counter(frozenset(two) for one in met for two in combinations(one.players, 2))
    for table in tables:
        seated = [order.pop(0)]
        while len(seated) < seats:
            seen = {player: sum(times[frozenset({player, other})] for other in seated) for player in order}
            seated.append(min(order, key=seen.__getitem__))
            order.remove(seated[-1])
        assert {*table} == {*seated}


@examples(40)
@given(players=st.integers(3, 14), seats=st.integers(3, 6), rounds=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_standings_by_a_second_implementation(players: int, seats: int, rounds: int, seed: int) -> None:
    met = played(players, seats, rounds, seed)
    seeded = list(range(1, players + 1))
    expected = sorted(seeded, key=lambda player: (*(-one for one in naive(met, player, rounds)), player))
    assert [one.player for one in placed(figures(SWISS, NEWEST), seeded, met)] == expected


def naive(met: Sequence[Meeting], player: int, rounds: int) -> tuple[Fraction, ...]:
    """Return the figures by which a Swiss ranks, from exact fractions of the points."""

    def exact(one: Meeting, who: int) -> Fraction:
        return Fraction(one.points[one.players.index(who)]).limit_denominator(1000)

    def mine(who: int) -> list[Meeting]:
        return [one for one in met if who in one.players]

    def score(who: int) -> Fraction:
        return sum((exact(one, who) for one in mine(who)), Fraction())

    def early(who: int) -> Fraction:
        return sum((exact(one, who) * (rounds - one.round + 1) for one in mine(who)), Fraction())

    others = [other for one in mine(player) for other in one.players if other != player]
    won = sum(
        len(one.players) > 1 and all(exact(one, player) > exact(one, other) for other in one.players if other != player)
        for one in mine(player)
    )
    return (
        score(player),
        Fraction(won),
        sum(map(score, others), Fraction()),
        early(player),
        sum(map(early, others), Fraction()),
    )


@pytest.mark.parametrize(
    ("ranks", "failed", "what", "points"),
    [
        ({1: 1, 2: 2, 3: 3, 4: 4}, (), Ranks.PLACEMENT, {1: 1.0, 2: 2 / 3, 3: 1 / 3, 4: 0.0}),
        ({1: 1, 2: 2, 3: 3, 4: 4}, (), Ranks.WINS, {1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0}),
        ({1: 1, 2: 1, 3: 3}, (3,), Ranks.PLACEMENT, {1: 0.75, 2: 0.75, 3: 0.0}),
        ({1: 1, 2: 2, 3: 3}, (1,), Ranks.PLACEMENT, {1: 0.0, 2: 1.0, 3: 0.5}),
        ({1: 1, 2: 2, 3: 3}, (1,), Ranks.WINS, {1: 0.0, 2: 1.0, 3: 0.0}),
        ({1: 1, 2: 2}, (1, 2), Ranks.PLACEMENT, {1: 0.0, 2: 0.0}),
        ({1: 1, 2: 1}, (), Ranks.PLACEMENT, {1: 0.5, 2: 0.5}),
        ({1: 2, 2: 1}, (), Ranks.WINS, {1: 0.0, 2: 1.0}),
    ],
)
def test_the_points_of_a_match(
    ranks: Mapping[int, int], failed: Sequence[int], what: Ranks, points: Mapping[int, float]
) -> None:
    assert points_taken(ranks, failed, what) == pytest.approx(points)


def test_two_at_the_cut_meet_again_with_their_neighbours_and_move_nobody_else() -> None:
    form = Form(SWISS, 1, 2, keep=3, further=2, seats=3)
    seeded = [1, 2, 3, 4, 5, 6]
    met = [Meeting(1, (1, 2, 3), (1.0, 1.0, 1.0)), Meeting(1, (4, 5, 6), (1.0, 1.0, 1.0))]
    ((tables, byes),) = next_rounds(form, seeded, {*seeded}, met)
    assert (tables, byes) == ([(3, 4, 5)], ())
    again = [*met, Meeting(2, (3, 4, 5), (0.0, 2.0, 1.0))]
    assert [one.player for one in standings(form, seeded, {*seeded}, again)] == [1, 2, 4, 3, 5, 6]
    ((tables, _),) = next_rounds(form, seeded, {*seeded}, again)
    assert tables == [(5, 4, 3)]
    assert next_rounds(form, seeded, {1, 2}, met) == [], "no table is left"


def test_stages_at_larger_tables_are_a_swiss_that_leaves_enough_for_the_next() -> None:
    assert list(stage_faults(["swiss rounds=3 keep=4", "swiss rounds=5"], 4)) == []
    assert list(stage_faults(["round-robin keep=8", "knockout"], 4)) == [
        "number 1: only a swiss is played at tables of 4",
        "number 2: only a swiss is played at tables of 4",
    ]
    assert list(stage_faults(["swiss rounds=3 keep=3", "swiss rounds=5"], 4)) == [
        "number 1: “keep” must leave enough for a table of 4"
    ]
