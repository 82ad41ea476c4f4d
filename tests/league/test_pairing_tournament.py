"""Stages and brackets are compared with tables from their rules and with a second implementation."""

import random
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import product
from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.pairing.evidence import are_apart, comparisons
from deadheat.league.pairing.figures import Meeting
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.knockout import Ties, bracket, bracket_standings, next_ties
from deadheat.league.pairing.tournament import Form, Tie, next_rounds, rounds_of, standings
from tests.lanes import examples, scaled
from tests.league.meetings import Pair

ROUND_ROBIN, SWISS, KNOCKOUT = EvaluationFormat.ROUND_ROBIN, EvaluationFormat.SWISS, EvaluationFormat.KNOCKOUT

Points = Callable[[int, int], tuple[float, float]]


def play(form: Form, seeded: Sequence[int], points: Points, present: set[int] | None = None) -> list[Pair]:
    """Play a whole tournament; `points` gives the points that two players take from each other."""
    there = set(seeded) if present is None else present
    played: list[Pair] = []
    while due := next_rounds(form, seeded, there, played):
        last = max((one.round for one in played), default=0)
        for number, (pairs, byes) in enumerate(due, last + 1):
            played += [Pair(number, one, other, *points(one, other)) for one, other in pairs]
            played += [Pair(number, bye, None, float(form.matches)) for bye in byes]
    return played


def test_draws_of_pairs_are_those_of_every_earlier_version() -> None:
    """The hash is that of the code before larger tables had round robins and knock-outs."""
    digest = sha256()
    for seed in range(60):
        chance = random.Random(seed)
        players = chance.sample(range(1, 100), chance.randrange(2, 20))
        for format_ in (SWISS, ROUND_ROBIN, KNOCKOUT):
            played: list[Pair] = []
            form = Form(format_, chance.randrange(1, 6), 2, keep=1, third_place=bool(seed % 2))
            while due := next_rounds(form, players, set(players[seed % 3 :]), played):
                digest.update(repr(due).encode())
                for number, (pairs, byes) in enumerate(due, max((one.round for one in played), default=0) + 1):
                    results = [chance.choice([(2.0, 0.0), (1.0, 1.0), (0.5, 1.5)]) for _ in pairs]
                    played += [Pair(number, pair[0], pair[1], *two) for pair, two in zip(pairs, results, strict=True)]
                    played += [Pair(number, bye, None, 2.0) for bye in byes]
            found = standings(form, players, set(players[seed % 3 :]), played)
            digest.update(repr([(one.player, one.place, sorted(one.figures.items())) for one in found]).encode())
    assert digest.hexdigest() == "e26a282393d81df8b68a3c705271bb71b382a9169156ab0c5687f83196246885"


@pytest.mark.parametrize("format_", EvaluationFormat)
@pytest.mark.parametrize("players", [2, 4, 8])
def test_a_format_plays_to_the_end_what_it_foresees(format_: EvaluationFormat, players: int) -> None:
    chance = random.Random(players)
    form = Form(format_, format_.rules.rounds_in(players, None, 2), 2)
    seeded = [*range(1, players + 1)]
    played = play(form, seeded, lambda *_: chance.choice([(2.0, 0.0), (0.0, 2.0)]))
    places = standings(form, seeded, set(seeded), played)
    assert sorted(one.player for one in places) == seeded
    assert [one.place for one in places] == seeded, "places are from 1, without gaps"
    foreseen = sum(often * tables for often, tables in format_.rules.pools(form, players))
    assert abs(foreseen - sum(one.second is not None for one in played)) <= 1, "a last match may not be needed"
    assert format_.rules.words and all(figure.name in places[0].figures for figure in format_.rules.usual)


def test_two_that_meet_in_two_ties_have_the_points_of_each() -> None:
    ties = Ties([1, 2], [Pair(1, 1, 2, 1, 1), Pair(2, 2, 1, 0, 2), Pair(3, 1, 2, 0, 2), Pair(4, 1, 2, 1, 1)], 1)
    first, second, third = (ties.make(number, 1, (1, 2)) for number in (1, 2, 3))
    assert (first.times, first.points, first.winner) == (2, (3, 1), 1), "level at first, then decided"
    assert (second.times, second.points, second.winner) == (1, (0, 2), 2)
    assert (third.times, third.points, third.winner) == (1, (1, 1), None), "it may meet again"


def better_wins(matches: int) -> Points:
    return lambda one, other: (float(matches), 0.0) if one < other else (0.0, float(matches))


def halved(matches: int) -> Points:
    return lambda *_: (matches / 2, matches / 2)


def test_ten_won_pairs_in_a_row_tell_two_apart() -> None:
    assert next(won for won in range(30) if are_apart(won, won)) == 10
    assert are_apart(-10, 10) and not are_apart(9, 11)
    assert not are_apart(0, 1000), "contradictions speak for equality"


@pytest.mark.parametrize("draws", [0.0, 0.4])
def test_equals_are_taken_for_apart_in_one_of_twenty_cases_at_most(draws: float) -> None:
    """The lead is examined after each of forty rounds of two matches."""
    chance = random.Random(5)
    wrong, trials = 0, scaled(400, 60)
    for _ in range(trials):
        lead = squares = 0.0
        for _ in range(40):
            pair = sum(0 if chance.random() < draws else chance.choice([-1, 1]) for _ in range(2)) / 2
            lead, squares = lead + pair, squares + pair**2
            if are_apart(lead, squares):
                wrong += 1
                break
    assert wrong <= 0.05 * trials + 2 * (0.05 * 0.95 * trials) ** 0.5


@pytest.mark.parametrize(("rules", "direct"), [(1, 0.5), (2, 1), (3, 1)])
def test_what_two_are_compared_by(rules: int, direct: float) -> None:
    played = [
        Pair(1, 1, 2, 3, 1),  # a won pair, and one with 1 : 1; in version 1 of the rules (3 - 1) / 4
        Pair(2, 1, 3, 4, 0),  # against 3: 1, and below -1/2, seen from 2
        Pair(2, 3, 2, 3, 1),
        Pair(3, 1, 4, 4, 0),  # 2 has not met 4
        Pair(4, 2, None, 4),
    ]
    everybody = {1, 2, 3, 4}
    assert comparisons(1, 2, played, 4, everybody, rules) == [direct, 0.75]
    assert comparisons(2, 1, played, 4, everybody, rules) == [-direct, -0.75]
    assert comparisons(1, 2, played, 4, {1, 2}, rules) == [direct], "who is gone is no measure"
    table = [Meeting(1, (1, 2, 3), (3.0, 1.0, 2.0)), Meeting(2, (2, 1, 4), (0.0, 4.0, 2.0))]
    assert comparisons(1, 2, table, 4, everybody, rules) == [0.5, 1], "of a table only the two count"


PAIRS = st.lists(
    st.tuples(*[st.sampled_from([(1.0, 0.0), (0.5, 0.5), (0.0, 1.0), (0.0, 0.0)])] * 2), min_size=1, max_size=12
)


@examples(100)
@given(PAIRS)
def test_a_round_never_tells_two_apart_more_than_its_pairs(pairs: list[tuple[tuple[float, float], ...]]) -> None:
    """A match that was not played counts as (0, 0)."""
    exact = [sum(mine - theirs for mine, theirs in pair) / 2 for pair in pairs]
    points = [sum(match[side] for pair in pairs for match in pair) for side in (0, 1)]
    shares = comparisons(1, 2, [Pair(1, 1, 2, *points)], 2 * len(pairs), {1, 2}, 3)
    lead, squares = float(sum(shares)), float(sum(share**2 for share in shares))
    assert lead == sum(exact) and squares >= sum(one**2 for one in exact)


def test_two_that_are_clearly_apart_in_one_round_do_not_meet_again() -> None:
    for rules, rounds in ((1, 6), (2, 1), (3, 1)):
        form = Form(ROUND_ROBIN, 1, 20, keep=1, further=5, rules=rules)
        assert max(one.round for one in play(form, [1, 2], better_wins(20))) == rounds


@pytest.mark.parametrize(("rules", "pairs"), [(2, 8), (3, 10)])
def test_a_stage_keeps_the_test_under_which_it_began(rules: int, pairs: int) -> None:
    form = Form(ROUND_ROBIN, 1, 2, keep=1, further=20, rules=rules)
    assert max(one.round for one in play(form, [1, 2], better_wins(2))) == pairs


def test_further_rounds_decide_between_the_two_at_the_cut_and_nobody_else() -> None:
    form = Form(ROUND_ROBIN, 3, 2, keep=2, further=4)
    played = play(form, [1, 2, 3, 4], halved(2))
    assert [(one.round, one.first, one.second) for one in played if one.round > 3] == [
        (4, 2, 3),
        (5, 3, 2),
        (6, 2, 3),
        (7, 3, 2),
    ]
    there = {1, 2, 3, 4}
    assert [one.player for one in standings(form, [1, 2, 3, 4], there, played)] == [1, 2, 3, 4]
    lost = [Pair(one.round, one.first, one.second, 0, 2) if one.round == 4 else one for one in played]
    assert [one.player for one in standings(form, [1, 2, 3, 4], there, lost)] == [1, 3, 2, 4]
    assert {one.player: one.points for one in standings(form, [1, 2, 3, 4], there, lost)} == dict.fromkeys(there, 3.0)


def test_a_bot_that_is_taken_out_comes_last_and_moves_the_cut() -> None:
    form = Form(ROUND_ROBIN, 3, 2, keep=2, further=2)
    played = [
        Pair(one.round, one.first, one.second, *better_wins(2)(one.first, one.second or 0))
        for one in play(Form(ROUND_ROBIN, 3, 2), [1, 2, 3, 4], halved(2))
    ]
    assert [one.player for one in standings(form, [1, 2, 3, 4], {2, 3, 4}, played)] == [2, 3, 4, 1]
    ((pairs, _),) = next_rounds(form, [1, 2, 3, 4], {2, 3, 4}, played)
    assert pairs == [(3, 4)]
    assert next_rounds(form, [1, 2, 3, 4], {2, 4}, played) == [], "both go on"


def test_an_evaluation_that_is_no_stage_has_no_further_rounds() -> None:
    assert max(one.round for one in play(Form(SWISS, 3, 2), [1, 2, 3, 4], halved(2))) == 3


@pytest.mark.parametrize("seed", range(scaled(60, 15)))
def test_stages_as_a_second_implementation_plays_them(seed: int) -> None:
    chance = random.Random(seed)
    players = list(range(1, chance.randrange(3, 9)))
    form = Form(ROUND_ROBIN, len(players) - 1 + len(players) % 2, 2, chance.randrange(1, len(players)), 3)
    results: dict[tuple[int, int, int], tuple[float, float]] = {}

    def drawn(number: int, one: int, other: int) -> tuple[float, float]:
        return results.setdefault((number, one, other), chance.choice([(2, 0), (1.5, 0.5), (1, 1), (0, 2)]))

    played: list[Pair] = []
    while due := next_rounds(form, players, set(players), played):
        last = max((one.round for one in played), default=0)
        for number, (pairs, _) in enumerate(due, last + 1):
            played += [Pair(number, one, other, *drawn(number, one, other)) for one, other in pairs]
    assert [one.player for one in standings(form, players, set(players), played)] == naive_stage(form, players, played)


def naive_stage(form: Form, players: list[int], played: list[Pair]) -> list[int]:
    """Return the order by the rules' text, and assert that the stage ended neither too early nor too late."""
    base = [one for one in played if one.round <= form.rounds]
    score = dict.fromkeys(players, 0.0)
    for one in base:
        score[one.first] += one.first_points
        score[one.second or 0] += one.second_points
    berger = dict.fromkeys(players, 0.0)
    for one in base:
        berger[one.first] += one.first_points * score[one.second or 0]
        berger[one.second or 0] += one.second_points * score[one.first]
    order = sorted(players, key=lambda player: (-score[player], -berger[player], player))
    assert form.keep is not None
    above, below = order[form.keep - 1], order[form.keep]
    further = [one for one in played if one.round > form.rounds]
    assert all({one.first, one.second} == {above, below} for one in further)

    def lead(player: int, other: int) -> float:
        """Return a player's lead over the other in the rounds, as a share of their matches."""
        for one in base:
            if (one.first, one.second) == (player, other):
                return (one.first_points - one.second_points) / form.matches
            if (one.second, one.first) == (player, other):
                return (one.second_points - one.first_points) / form.matches
        raise AssertionError

    def apart(times: int) -> bool:
        shares = [lead(above, below)]
        shares += [(lead(above, third) - lead(below, third)) / 2 for third in players if third not in (above, below)]
        for one in further[:times]:
            share = (one.first_points - one.second_points) / form.matches
            shares.append(share if one.first == above else -share)
        wide = sum(share**2 for share in shares) + 3
        return abs(sum(shares)) >= sqrt(wide * log(400 * wide / 3))

    assert not any(apart(times) for times in range(len(further)))
    assert len(further) == form.further or apart(len(further))
    gained = score[above] - score[below]
    for one in further:
        gained += (one.first_points - one.second_points) * (1 if one.first == above else -1)
    if gained < 0:
        order[form.keep - 1], order[form.keep] = below, above
    return order


def test_the_best_seeds_have_byes_and_meet_as_late_as_can_be() -> None:
    seeded = [11, 12, 13, 14, 15, 16]
    ties = bracket(seeded, [], 0, third_place=False)
    first = [(*one.players, one.is_bye) for one in ties if one.round == 1]
    assert first == [(11, None, True), (14, 15, False), (12, None, True), (13, 16, False)]
    assert [one.players for one in ties if one.round == 2] == [(11, None), (12, None)]
    assert next_ties(ties) == [(14, 15), (13, 16)]


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33])
def test_if_the_better_seed_always_wins_everybody_comes_where_it_was_seeded(players: int) -> None:
    seeded = list(range(1, players + 1))
    form = Form(KNOCKOUT, rounds_of(players), 2, keep=1, third_place=True)
    played = play(form, seeded, better_wins(2))
    assert [one.player for one in standings(form, seeded, set(seeded), played)] == seeded
    assert (len(played), max(one.round for one in played)) == (players - 1 + (players >= 4), rounds_of(players))


def test_a_level_tie_is_repeated_with_sides_changed_and_then_the_better_seed_goes_on() -> None:
    played = play(Form(KNOCKOUT, 1, 3, keep=1, further=2), [7, 8], halved(3))
    assert [(one.round, one.first, one.second) for one in played] == [(1, 7, 8), (2, 8, 7), (3, 7, 8)]
    (tie,) = bracket([7, 8], played, 2, third_place=False)
    assert (tie.winner, tie.loser, *tie.points) == (7, 8, 4.5, 4.5)


def test_points_at_a_table_that_met_twice_count_half_for_a_place() -> None:
    twice = Tie(1, 1, (1, 4, 5, 8), (8.0, 7.0, 3.0, 2.0), 2, (1, 4))
    once = Tie(1, 2, (2, 3, 6, 7), (4.0, 3.0, 2.0, 1.0), 1, (2, 3))
    final = Tie(2, 1, (1, 2, 3, 4), (4.0, 3.0, 2.0, 1.0), 1, (1,))
    assert [one.player for one in bracket_standings([*range(1, 9)], [twice, once, final])] == [1, 2, 3, 4, 6, 5, 7, 8]


def test_the_losers_of_the_semifinals_play_for_the_third_place() -> None:
    form = Form(KNOCKOUT, 2, 1, keep=1, third_place=True)
    played = play(form, [1, 2, 3, 4], lambda one, other: (0.0, 1.0) if {one, other} == {3, 4} else (1.0, 0.0))
    ties = bracket([1, 2, 3, 4], played, 0, third_place=True)
    assert [one.players for one in ties] == [(1, 4), (2, 3), (1, 2), (4, 3)]
    assert [one.player for one in bracket_standings([1, 2, 3, 4], ties)] == [1, 2, 3, 4]
    assert [one.place for one in bracket_standings([1, 2, 3, 4], ties)] == [1, 2, 3, 4]


@pytest.mark.parametrize(("players", "winners"), list(product([5, 8, 13], range(scaled(20, 4)))))
def test_a_bracket_as_a_second_implementation_plays_it(players: int, winners: int) -> None:
    chance = random.Random(f"{players} {winners}")
    seeded = list(range(1, players + 1))
    strength = {player: chance.random() for player in seeded}
    form = Form(KNOCKOUT, rounds_of(players), 1, keep=1)
    played = play(form, seeded, lambda one, other: (1.0, 0.0) if strength[one] > strength[other] else (0.0, 1.0))
    assert [one.player for one in standings(form, seeded, set(seeded), played)] == naive_knockout(seeded, strength)


def naive_knockout(seeded: list[int], strength: dict[int, float]) -> list[int]:
    """Return the players in order of place, by halving the field with the seeds in the order of the draw."""

    def winner(lines: list[int | None], depth: int) -> int | None:
        if len(lines) == 1:
            return lines[0]
        halves = (winner(lines[: len(lines) // 2], depth + 1), winner(lines[len(lines) // 2 :], depth + 1))
        found = [one for one in halves if one is not None]
        best = max(found, key=strength.__getitem__, default=None)
        for one in found:
            if one != best:
                out[one] = depth
        return best

    out: dict[int, int] = {}
    size = 2 ** rounds_of(len(seeded))
    order = [1]
    while len(order) < size:
        whole = 2 * len(order) + 1
        order = [one for place in order for one in (place, whole - place)]
    champion = winner([seed if seed <= len(seeded) else None for seed in order], 0)
    assert champion is not None
    return sorted(seeded, key=lambda player: (-1 if player == champion else out[player], player))


def test_a_stage_ends_at_once_if_the_two_at_the_cut_are_apart() -> None:
    form = Form(ROUND_ROBIN, 19, 2, keep=10, further=50)
    assert max(one.round for one in play(form, range(1, 21), better_halves)) == 19


def better_halves(one: int, other: int) -> tuple[float, float]:
    """Let the first ten beat all others, and be level among themselves, as the others are."""
    if (one <= 10) == (other <= 10):
        return 1.0, 1.0
    return (2.0, 0.0) if one <= 10 else (0.0, 2.0)


def test_without_a_third_place_the_better_seed_of_the_losers_is_third() -> None:
    played = play(Form(KNOCKOUT, 2, 1, keep=1), [1, 2, 3, 4], lambda one, other: (0.0, 1.0))
    ties = bracket([1, 2, 3, 4], played, 0, third_place=False)
    assert [one.player for one in bracket_standings([1, 2, 3, 4], ties)] == [3, 4, 1, 2]
