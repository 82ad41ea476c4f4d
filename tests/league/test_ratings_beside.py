"""A table gives Plackett and Luce's column, the fit, triads, pairs and seats beside its ratings."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.ratings import ELO_PER_NAT, RatingConfig, RatingTable, rate
from deadheat.league.ratings.quality import Fit
from deadheat.league.states import Ranks
from tests.lanes import examples
from tests.league.logs import Line, drawn_duels, drawn_tables, duels, log

pytestmark = pytest.mark.quick


def second(table: RatingTable) -> dict[str, float | None]:
    return {entry.player: entry.plackett_luce for entry in table.entries}


def log_likelihood(strengths: dict[str, float], order: list[str], choices: int) -> float:
    """Return the log likelihood of the first `choices` choices of one order."""
    total = 0.0
    for place in range(choices):
        total += strengths[order[place]] - math.log(sum(math.exp(strengths[player]) for player in order[place:]))
    return total


def mean_log_likelihood(strengths: dict[str, float], line: Line, ranks: Ranks) -> float:
    """Return the mean over all orders that agree with the ranks; for wins, only choices of first places count."""
    players, places = line[0], dict(zip(line[0], line[1], strict=True))
    best = min(places.values())
    choices = len(players) if ranks is Ranks.PLACEMENT else sum(place == best for place in places.values())
    orders = [
        list(order)
        for order in permutations(players)
        if all(places[one] <= places[other] for one, other in pairwise(order))
    ]
    return sum(log_likelihood(strengths, order, choices) for order in orders) / len(orders)


TABLES = st.lists(
    st.tuples(st.permutations("abcde").map(lambda order: tuple(order[:3])), st.tuples(*[st.integers(1, 3)] * 3)),
    min_size=1,
    max_size=8,
)


@examples(25)  # a general optimiser is slow
@given(TABLES, st.sampled_from(Ranks))
def test_the_second_column_is_the_most_likely_by_the_definition(lines: list[Line], ranks: Ranks) -> None:
    from scipy.optimize import minimize  # importing it would cost every collection of tests half a second

    found = second(rate(log(lines), RatingConfig(ranks=ranks)))
    players = sorted(found)

    def cost(strengths: np.ndarray) -> float:
        by_name = dict(zip(players, strengths, strict=True))
        prior = np.sum(strengths**2) * (ELO_PER_NAT / 350) ** 2 / 2
        return float(prior - sum(mean_log_likelihood(by_name, line, ranks) for line in lines))

    best = minimize(cost, np.zeros(len(players)), method="BFGS", options={"gtol": 1e-7}).x
    expected = {player: 1500 + ELO_PER_NAT * strength for player, strength in zip(players, best, strict=True)}
    assert found == pytest.approx(expected, abs=0.01)


def test_two_seats_have_no_second_column() -> None:
    assert set(second(rate(log(duels("a", "b", 3, 2)), RatingConfig())).values()) == {None}


def test_tables_of_different_sizes_have_one() -> None:
    lines: list[Line] = [*duels("a", "b", 3, 2), (("a", "b", "c"), (1, 2, 3)), (("a", "b", "c", "d"), (2, 1, 3, 3))]
    found = second(rate(log(lines), RatingConfig()))
    assert all(isinstance(elo, float) for elo in found.values())


def test_tables_too_large_for_their_ties_have_none() -> None:
    lines: list[Line] = [(tuple("abcdefghi"), (1,) * 9)]
    assert set(second(rate(log(lines), RatingConfig())).values()) == {None}


@pytest.mark.parametrize("ranks", Ranks)
def test_both_columns_agree_about_results_of_the_model(ranks: Ranks) -> None:
    table = rate(drawn_tables(np.random.default_rng(8), 24, 6, 400).log, RatingConfig(ranks=ranks))
    apart = [entry.elo - (entry.plackett_luce or 0) for entry in table.entries]
    assert np.std(apart) < np.mean([entry.se for entry in table.entries])


def fit(lines: list[Line]) -> Fit:
    return rate(log(lines), RatingConfig()).fit()


def test_results_of_the_model_fit_it() -> None:
    found = [rate(drawn_duels(np.random.default_rng(seed), 40, 400).log, RatingConfig()).fit() for seed in range(4)]
    assert np.mean([one.chi2_per_dof for one in found]) == pytest.approx(1, abs=0.06)
    assert np.mean([one.dispersion for one in found]) == pytest.approx(0.8, abs=0.02)  # a fifth of equals draw
    assert found[0].degrees == 40 * 39 // 2 - 39


def test_rock_paper_and_scissors_do_not() -> None:
    found = fit([*duels("rock", "scissors", 9, 1), *duels("scissors", "paper", 9, 1), *duels("paper", "rock", 9, 1)])
    assert found.chi2_per_dof == pytest.approx(3 * (9 - 5) ** 2 / 2.5)
    assert (found.degrees, found.cyclic_share, found.triads) == (1, 1.0, 1)


def test_a_strict_order_has_no_cycle_and_level_pairs_are_no_triad() -> None:
    order = [*duels("a", "b", 3), *duels("b", "c", 3), *duels("a", "c", 2, 1)]
    assert (fit(order).cyclic_share, fit(order).triads) == (0, 1)
    level = [*duels("a", "b", 3), *duels("b", "c", 3), *duels("a", "c", 2, 2)]
    assert (fit(level).cyclic_share, fit(level).triads) == (None, 0)


def test_coins_make_a_quarter_of_cycles() -> None:
    chance = np.random.default_rng(9)
    names = [f"b{number:02}" for number in range(40)]
    lines: list[Line] = [
        ((one, other), (1, 2) if chance.random() < 0.5 else (2, 1))
        for place, one in enumerate(names)
        for other in names[:place]
    ]
    found = fit(lines)
    assert found.triads == 40 * 39 * 38 // 6
    assert found.cyclic_share == pytest.approx(0.25, abs=0.03)


def test_nothing_is_said_of_an_empty_log() -> None:
    assert fit([]) == Fit(None, 0, 1.0, None, 0)


def test_the_pair_table_is_what_was_played() -> None:
    table = rate(log([*duels("a", "b", 3, 1), *duels("c", "a", 0, 0, 2), *duels("b", "d", 5)]), RatingConfig())
    found = table.pairs(["b", "a", "c"])
    assert found.games == [[0, 4, 0], [4, 0, 2], [0, 2, 0]]
    assert (found.points, table.pairs([]).games) == ([[0, 1, 0], [3, 0, 1], [0, 1, 0]], [])


def test_the_worth_of_a_seat_is_found() -> None:
    (effect,) = rate(drawn_duels(np.random.default_rng(10), 40, 300, seat_elo=60).log, RatingConfig()).seats()
    assert (effect.seats, effect.tables) == (2, 6000)
    assert sum(effect.elo) == pytest.approx(0)
    assert effect.elo[0] == pytest.approx(30, abs=3 * effect.se_elo[0])
    assert 1 < effect.se_elo[0] < 4


def test_seats_of_a_table_of_four() -> None:
    worth = (45.0, 15.0, -15.0, -45.0)
    (effect,) = rate(drawn_tables(np.random.default_rng(11), 24, 4, 400, worth).log, RatingConfig()).seats()
    for found, error, true in zip(effect.elo, effect.se_elo, worth, strict=True):
        assert found == pytest.approx(true, abs=3 * error)
        assert 1 < error < 8


def test_where_no_seat_is_better_the_effect_is_within_its_error() -> None:
    chance = np.random.default_rng(12)
    sure = []
    for _ in range(60):
        (effect,) = rate(drawn_tables(chance, 12, 4, 30).log, RatingConfig()).seats()
        sure += [abs(elo) < 1.96 * error for elo, error in zip(effect.elo, effect.se_elo, strict=True)]
    assert 0.9 < np.mean(sure) < 0.99


def test_a_player_who_always_sits_first_says_nothing_about_the_seat() -> None:
    (effect,) = rate(log(duels("a", "b", 90, 10)), RatingConfig()).seats()
    assert effect.se_elo[0] > 100


def test_three_games_that_the_first_seat_won_are_no_certainty() -> None:
    lines: list[Line] = [(("a", "b"), (1, 2)), (("b", "a"), (1, 2)), (("a", "b"), (1, 2))]
    (effect,) = rate(log(lines), RatingConfig()).seats()
    assert 0 < effect.elo[0] < 400


def test_each_size_of_table_has_seats_of_its_own() -> None:
    lines: list[Line] = [*duels("a", "b", 3, 2), *duels("b", "a", 2, 2), (("a", "b", "c"), (1, 2, 3))]
    assert [effect.seats for effect in rate(log(lines), RatingConfig()).seats()] == [2, 3]
