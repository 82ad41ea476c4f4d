"""Finals are drawn by Berger's tables or as Swiss rounds, from what was played, as they always were."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.pairing.finals import Played, due_tables, extra_games
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.pairs import PairKey, lot, pair_key
from deadheat.league.pairing.rounds import NoRound, Round, berger, swiss, tables
from deadheat.league.pairing.tournament import Form

pytestmark = pytest.mark.quick

SIX = [
    [(0, 5), (1, 4), (2, 3)],
    [(5, 3), (4, 2), (0, 1)],
    [(1, 5), (2, 0), (3, 4)],
    [(5, 4), (0, 3), (1, 2)],
    [(2, 5), (3, 1), (4, 0)],
]
"""The table for six players as federations print it, counted from 0."""


def players_of(found: Round) -> list[int]:
    return sorted([*(player for pair in found.pairs for player in pair), *([] if found.bye is None else [found.bye])])


def test_the_table_for_six_is_the_printed_one() -> None:
    assert [set(found.pairs) for found in berger(range(6))] == [set(pairs) for pairs in SIX]


@pytest.mark.parametrize("size", range(2, 24))
def test_in_a_round_robin_everybody_meets_everybody_once_and_seats_are_balanced(size: int) -> None:
    players = [100 + 7 * number for number in range(size)]
    rounds = berger(players)
    assert all(players_of(found) == players for found in rounds)
    assert len(rounds) == size - 1 + size % 2
    pairs = [pair for found in rounds for pair in found.pairs]
    assert sorted(pair_key(*pair) for pair in pairs) == list(combinations(players, 2))
    assert sorted(found.bye for found in rounds if found.bye is not None) == (players if size % 2 else [])
    first = Counter(one for one, _ in pairs)
    assert {abs(2 * first[player] - (size - 1)) for player in players} == {(size - 1) % 2}


def test_nobody_and_one_alone_have_no_rounds() -> None:
    assert berger([]) == berger([7]) == []
    assert (swiss([], {}, set()), swiss([7], {}, set())) == (Round(()), Round((), 7))


def play_swiss(size: int, rounds: int, seed: bytes) -> list[tuple[Round, dict[int, Fraction]]]:
    """Play a tournament with random results; return each round with the scores before it."""
    scores: dict[int, Fraction] = {}
    met: set[PairKey] = set()
    byes: list[int] = []
    played = []
    for number in range(rounds):
        found = swiss(range(size), scores, met, byes, seed + bytes([number]))
        played.append((found, dict(scores)))
        for one, other in found.pairs:
            met.add(pair_key(one, other))
            won = Fraction(lot(seed, number, one, other) % 3, 2)
            scores[one] = scores.get(one, Fraction(0)) + won
            scores[other] = scores.get(other, Fraction(0)) + 1 - won
        if found.bye is not None:
            byes.append(found.bye)
            scores[found.bye] = scores.get(found.bye, Fraction(0)) + 1
    return played


@given(st.integers(2, 40), st.binary(max_size=4))
def test_swiss_rounds_never_repeat_a_meeting_for_half_the_field(size: int, seed: bytes) -> None:
    played = play_swiss(size, size // 2, seed)
    assert all(players_of(found) == list(range(size)) for found, _ in played)
    assert max(Counter(pair_key(*pair) for found, _ in played for pair in found.pairs).values()) == 1


@given(st.integers(3, 41).filter(lambda size: size % 2 == 1), st.binary(max_size=4))
def test_nobody_sits_out_twice_before_all_have_sat_out(size: int, seed: bytes) -> None:
    byes = [found.bye for found, _ in play_swiss(size, size // 2, seed)]
    assert len(set(byes)) == len(byes)
    assert swiss(range(size), {}, set(), [player for player in range(size) if player != 1]).bye == 1


def test_the_last_one_sits_out() -> None:
    assert (swiss([1, 2, 3], {}, set()).bye, swiss([1, 2, 3], {1: 0, 2: 2, 3: 1}, set()).bye) == (3, 1)
    assert swiss([1, 2, 3], {1: 0, 2: 2, 3: 1}, set(), [1]).bye == 3


@given(st.integers(4, 9), st.integers(1, 8), st.binary(max_size=2))
def test_a_round_is_found_wherever_there_is_one(size: int, rounds: int, seed: bytes) -> None:
    """Two players have left, so a round is no longer guaranteed."""
    met: set[PairKey] = set()
    for number in range(rounds):
        try:
            met |= {pair_key(*pair) for pair in swiss(range(size + 2), {}, met, (), seed + bytes([number])).pairs}
        except NoRound:
            break
    left = [player for player in range(size + 2) if player not in {1, 4}]
    try:
        found = swiss(left, {}, met)
    except NoRound:
        assert not any(can_meet(left, bye, met) for bye in (left if size % 2 else [None]))
    else:
        assert players_of(found) == left
        assert not {pair_key(*pair) for pair in found.pairs} & met


def can_meet(players: list[int], bye: int | None, met: set[PairKey]) -> bool:
    """Return whether all players but the bye can be paired without any pair that has met, by trying everything."""
    rest = [player for player in players if player != bye]
    if not rest:
        return True
    first, *others = rest
    return any(
        pair_key(first, other) not in met and can_meet([one for one in others if one != other], None, met)
        for other in others
    )


DRAWN = Path(__file__).with_name("drawn_finals.txt").read_text().split()
"""Digests of all tables of random finals, one for each season's number, as release 0.2 drew them."""


def drawn(number: int, due: Callable[..., Sequence[Any]] = due_tables) -> list[Any]:
    """Play random finals in which bots leave, come back and are disqualified; return the tables due at each step."""
    lots = (lot(b"finals", number, step) for step in range(1_000_000))
    some: Callable[[int], int] = lambda most: next(lots) % most  # noqa: E731  a die
    format_ = EvaluationFormat.SWISS if some(4) else EvaluationFormat.ROUND_ROBIN
    seats = 2 if format_ is EvaluationFormat.ROUND_ROBIN else (2, 2, 3, 4)[some(4)]
    size = seats + some(14) * (4 if some(8) == 0 else 1)
    form = Form(format_, format_.rules.rounds_in(size, some(7) or None, 2), 1 + some(4), seats=seats)
    field, away = list(range(10, 10 + size)), set[int]()
    played: list[Played] = []
    taken: list[dict[int, Fraction]] = []
    found = []
    for _ in range(40):
        points = Counter[int]()
        for series, its in zip(played, taken, strict=True):
            points.update({} if series.struck else its)
        there = [version for version in field if version not in away]
        tables = due(form, bytes([number % 7]), there, played, lambda points=points: dict(points))
        found.append(tables)
        if not tables:
            break
        for at, table in tables if format_ is EvaluationFormat.SWISS else tables[: 1 + some(6)]:
            played += [Played(at, frozenset(table), struck=some(12) == 0)] * (1 + (some(15) == 0))
            taken += [{version: Fraction(some(2 * form.matches + 1), seats) for version in table}] * (
                len(played) - len(taken)
            )
        if some(3) == 0 and len(there) > seats:
            away.add(gone := there[some(len(there))])
            if some(2):
                played = [replace(one, struck=one.struck or gone in one.versions) for one in played]
        elif some(3) == 0:
            away.clear()
    return found


def digest(found: list[Any]) -> str:
    return sha256(repr(found).encode()).hexdigest()[:8]


@pytest.mark.parametrize("number", range(0, 300, 50))
def test_random_finals_are_drawn_as_before(number: int) -> None:
    fifty = range(number, number + 50)
    assert [digest(drawn(one)) for one in fifty] == [DRAWN[one] for one in fifty]


def test_a_round_without_a_table_that_counts_is_worth_a_won_round() -> None:
    """The fifth player's opponent was disqualified, so it meets a winner, and somebody else sits out."""
    played = [Played(1, frozenset({1, 2})), Played(1, frozenset({3, 4})), Played(1, frozenset({5, 6}), struck=True)]
    form = Form(EvaluationFormat.SWISS, 2, 4)
    due = due_tables(form, b"", [1, 2, 3, 4, 5], played, lambda: {1: 4, 3: 4})
    assert {(number, frozenset(pair)) for number, pair in due} == {(2, frozenset({1, 5})), (2, frozenset({2, 3}))}
    assert due_tables(form, b"", [1, 2], [replace(played[0], finished=False)], dict) == [], "the round has not ended"
    assert due_tables(form, b"", [1, 2], played, dict) == [], "the two have met"


def test_games_that_we_fail_to_play_cost_the_budget_nothing_up_to_as_many_again() -> None:
    def left(matches: int, lost: int) -> tuple[int, int]:
        return extra_games([Played(1, frozenset(), 10, 10), Played(None, frozenset(), matches, lost)], 6)

    assert [left(0, 0), left(2, 0), left(6, 4), left(7, 7), left(12, 12)] == [(0, 6), (2, 4), (2, 4), (0, 5), (0, 0)]


def test_at_tables_neighbours_by_score_sit_together_and_the_last_sit_out_in_turn() -> None:
    scores = {2: 3, 3: 1, 4: 2}
    assert tables((1, 2, 3, 4, 5), scores, Counter(), 2) == [(2, 4), (3, 1)]
    assert tables((1, 2, 3, 4, 5), scores, Counter({5: 1}), 2) == [(2, 4), (3, 5)]
    assert tables((1, 2, 3), {}, Counter(), 4) == []


def test_the_first_round_is_upper_half_against_lower_half() -> None:
    assert {pair_key(*pair) for pair in swiss(range(8), {}, set()).pairs} == {(0, 4), (1, 5), (2, 6), (3, 7)}


def test_equal_scores_meet() -> None:
    """In six rounds of 64 players, over 80 % of pairs have equal scores; none differ by more than a point."""
    differences = Counter(
        abs(scores.get(one, Fraction(0)) - scores.get(other, Fraction(0)))
        for found, scores in play_swiss(64, 6, b"scores")
        for one, other in found.pairs
    )
    assert sum(differences.values()) == 6 * 32
    assert differences[Fraction(0)] > 0.8 * 6 * 32
    assert max(differences) <= 1


def test_a_swiss_round_follows_from_its_seed() -> None:
    rounds = [swiss(range(20), {}, set(), seed=seed) for seed in (b"a", b"a", b"b")]
    assert rounds[0] == rounds[1] != rounds[2]
    assert {pair_key(*pair) for pair in rounds[0].pairs} == {pair_key(*pair) for pair in rounds[2].pairs}


def test_a_player_that_has_met_everybody_has_no_round() -> None:
    with pytest.raises(NoRound):
        swiss([1, 2], {}, {(1, 2)})


def test_another_player_sits_out_where_the_others_could_not_be_paired() -> None:
    """The leader of three has met both others, so only those two can play."""
    found = swiss([1, 2, 3], {1: 2}, {(1, 2), (1, 3)})
    assert (pair_key(*found.pairs[0]), found.bye) == ((2, 3), 1)
