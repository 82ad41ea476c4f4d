"""Draws and standings of evaluations, at tables of two to six, are compared with a second, naive implementation."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.pairing.figures import CHOICE, Meeting
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.notation import stage_faults
from deadheat.league.pairing.rounds import berger, points_taken
from deadheat.league.pairing.swiss import draw
from deadheat.league.pairing.tournament import Form, next_rounds, standings
from deadheat.league.pairing.tournament import placed as placed_by
from deadheat.league.states import Ranks
from tests.lanes import examples
from tests.league.meetings import Pair

Played = list[Meeting]


def met_at(number: int, table: Sequence[int], games: int, chance: random.Random) -> Meeting:
    """Play a table's matches with random places, which may be shared."""
    taken: Counter[int] = Counter()
    for _ in range(games):
        taken.update(points_taken({player: chance.randrange(len(table)) for player in table}, (), Ranks.PLACEMENT))
    return Meeting(number, tuple(table), tuple(float(taken[player]) for player in table))


def played_swiss(
    seeded: Sequence[int], seats: int, rounds: int, games: int, chance: random.Random, leaving: float
) -> Played:
    """Play a Swiss and check each draw. In each round each player may leave for good, and we may fail at each table."""
    present, met = set(seeded), Played()
    for number in range(1, rounds + 1):
        present = {player for player in seeded if player in present and chance.random() >= leaving}
        tables, byes = draw(seeded, present, met, seats)
        check_round([player for player in seeded if player in present], met, tables, byes, seats)
        met += [met_at(number, table, games if chance.random() > 0.05 else 0, chance) for table in tables]
        met += [Meeting(number, (bye,), (float(games),)) for bye in byes]
    return met


def check_round(
    there: Sequence[int], before: Played, tables: Sequence[tuple[int, ...]], byes: Sequence[int], seats: int
) -> None:
    """Check, one player after the other, that a round follows the rule. `there`: the players by seed."""
    left = sorted(there, key=lambda player: -score(before, player))
    assert sorted([*byes, *(player for table in tables for player in table)]) == sorted(left)
    assert len(byes) == len(left) % seats
    had = Counter(one.players[0] for one in before if len(one.players) == 1)
    for bye in byes:
        assert bye == min(reversed(left), key=lambda player: (had[player], score(before, player)))
        left.remove(bye)
    for table in tables:
        seated = [left.pop(0)]
        while len(seated) < seats:
            times = [sum(opponents(before, one).count(other) for one in seated) for other in left]
            seated.append(left.pop(times.index(min(times))))
        assert {*table} == {*seated}


def taken_by(one: Meeting, player: int) -> Fraction:
    return Fraction(one.points[one.players.index(player)]).limit_denominator(1000)


def of(met: Played, player: int) -> Played:
    return [one for one in met if player in one.players]


def score(met: Played, player: int) -> Fraction:
    return sum((taken_by(one, player) for one in of(met, player)), Fraction())


def early(met: Played, player: int) -> Fraction:
    """Return the sum of the scores that a player had after each round."""
    last = max((one.round for one in met), default=0)
    return sum(
        (score([one for one in met if one.round <= number], player) for number in range(1, last + 1)), Fraction()
    )


def opponents(met: Played, player: int) -> list[int]:
    return [other for one in of(met, player) for other in one.players if other != player]


FIGURES: Mapping[str, Callable[[Played, int], Fraction]] = {
    "rounds_won": lambda met, player: sum(
        (
            Fraction(all(taken_by(one, player) > taken_by(one, other) for other in one.players if other != player))
            for one in of(met, player)
            if len(one.players) > 1
        ),
        Fraction(),
    ),
    "opponents_points": lambda met, player: sum((score(met, other) for other in opponents(met, player)), Fraction()),
    "early_points": early,
    "opponents_early_points": lambda met, player: sum((early(met, one) for one in opponents(met, player)), Fraction()),
    "sonneborn_berger": lambda met, player: sum(
        (
            taken_by(one, player) * score(met, other) / (len(one.players) - 1)
            for one in of(met, player)
            for other in one.players
            if other != player
        ),
        Fraction(),
    ),
}
SWISS = ("rounds_won", "opponents_points", "early_points", "opponents_early_points")


def check_places(format_: EvaluationFormat, chosen: Sequence[str] | None, seeded: Sequence[int], met: Played) -> None:
    usual = SWISS if format_ is EvaluationFormat.SWISS else ("sonneborn_berger",)
    names = usual if chosen is None else chosen
    told = {player: [score(met, player), *(FIGURES[name](met, player) for name in names)] for player in seeded}
    order = sorted(seeded, key=lambda player: [-figure for figure in told[player]])
    placed = placed_by(format_.rules.figures(chosen), seeded, met)
    assert [(one.place, one.player) for one in placed] == list(enumerate(order, 1))
    for one in placed:
        assert list(one.figures.values()) == pytest.approx([float(its) for its in told[one.player]], abs=1e-5)


@examples(150)
@given(
    players=st.integers(2, 14),
    seats=st.integers(2, 6),
    rounds=st.integers(1, 7),
    games=st.integers(1, 3),
    seed=st.integers(0, 2**32),
    leaving=st.sampled_from([0.0, 0.05]),
    chosen=st.none() | st.lists(st.sampled_from(list(CHOICE)), min_size=1, unique=True),
)
def test_a_swiss_is_drawn_and_placed_as_the_rule_says(
    players: int, seats: int, rounds: int, games: int, seed: int, leaving: float, chosen: list[str] | None
) -> None:
    chance = random.Random(seed)
    seeded = chance.sample(range(1, 100), players)
    met = played_swiss(seeded, seats, rounds, games, chance, leaving)
    check_places(EvaluationFormat.SWISS, chosen, seeded, met)


@examples(40)
@given(players=st.integers(2, 9), games=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_a_round_robin_is_placed_as_the_rule_says(players: int, games: int, seed: int) -> None:
    chance = random.Random(seed)
    seeded = chance.sample(range(1, 100), players)
    pairs = [(number, pair) for number, one in enumerate(berger(seeded), 1) for pair in one.pairs]
    met = [met_at(number, pair, games, chance) for number, pair in pairs]
    check_places(EvaluationFormat.ROUND_ROBIN, None, seeded, met)


@pytest.mark.parametrize("players", [0, 1])
def test_a_field_without_a_pair_has_no_pairs(players: int) -> None:
    assert draw([1, 2], set(range(1, players + 1)), []) == ([], (1,) * players)


def test_the_player_that_began_more_often_sits_second() -> None:
    met = [Pair(1, 1, 2, 1.0), Pair(1, 3, 4, 1.0)]
    ((first, second), _), _ = draw([1, 3, 2, 4], {1, 2, 3, 4}, [*met, Pair(2, 1, 4, 0.0, 0.0)])
    assert (first, second) == (3, 1)


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
    form = Form(EvaluationFormat.SWISS, 1, 2, keep=3, further=2, seats=3)
    seeded = [1, 2, 3, 4, 5, 6]
    met = [Meeting(1, (1, 2, 3), (1.0, 1.0, 1.0)), Meeting(1, (4, 5, 6), (1.0, 1.0, 1.0))]
    ((tables, byes),) = next_rounds(form, seeded, {*seeded}, met)
    assert (tables, byes) == ([(3, 4, 5)], ())
    again = [*met, Meeting(2, (3, 4, 5), (0.0, 2.0, 1.0))]
    assert [one.player for one in standings(form, seeded, {*seeded}, again)] == [1, 2, 4, 3, 5, 6]
    ((tables, _),) = next_rounds(form, seeded, {*seeded}, again)
    assert tables == [(5, 4, 3)]
    assert next_rounds(form, seeded, {1, 2}, met) == [], "no table is left"


def test_stages_at_larger_tables_leave_enough_for_the_next() -> None:
    assert list(stage_faults(["swiss rounds=3 keep=9", "round-robin keep=8", "knockout"], 4)) == []
    assert list(stage_faults(["knockout third-place"], 4)) == [
        "number 1: the final table decides the third place; leave “third-place” out"
    ]
    assert list(stage_faults(["swiss rounds=3 keep=3", "swiss rounds=5"], 4)) == [
        "number 1: “keep” must leave enough for a table of 4"
    ]


def test_the_first_round_pairs_the_best_with_the_next_and_gives_the_weakest_the_bye() -> None:
    assert draw([7, 5, 3, 9, 1], {1, 3, 5, 7, 9}, []) == ([(7, 5), (3, 9)], (1,))
