"""Logs of results, and the columns beside a rating."""

import hashlib
import json
import math
import random
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.ratings import ELO_PER_NAT, Games, Log, RatingConfig, RatingTable, log_of, rate
from deadheat.league.ratings.log import MOST_LINE_BYTES, MOST_PLAYERS, BadLine, read
from deadheat.league.ratings.quality import Fit
from deadheat.league.states import Ranks
from tests.lanes import examples
from tests.league.logs import Line, drawn_duels, drawn_tables, duels, lines_of, log
from tests.league.refusals import refused
from tests.league.test_ratings import LOGS

pytestmark = pytest.mark.quick


def told(made: Log) -> list[tuple[tuple[str, ...], tuple[int, ...], str | None, int]]:
    return [
        (
            tuple(made.players[player] for player in players),
            tuple(int(rank) for rank in ranks),
            None if group < 0 else made.groups[group],
            int(count),
        )
        for tables in made.tables
        for players, ranks, group, count in zip(tables.players, tables.ranks, tables.groups, tables.counts, strict=True)
    ]


def test_equal_games_are_counted_and_ranks_are_places() -> None:
    made = log([(("b", "a"), (7, 3)), (("b", "a"), (2, 1)), (("c", "a", "b"), (1, 5, 5))])
    assert told(made) == [(("b", "a"), (1, 0), None, 2), (("c", "a", "b"), (0, 1, 1), None, 1)]
    assert (made.players, made.games) == (("a", "b", "c"), 3)


def test_players_without_games_and_groups_of_one_game_are_left_out() -> None:
    games = Games(np.array([[0, 2], [2, 0], [0, 2]]), np.array([[1, 2]] * 3), np.array([0, 0, 1]))
    made = log_of(["z", "y", "x"], [games], ["pair", "single", "unused"])
    assert (made.players, made.groups) == (("x", "z"), ("pair",))
    zx = ("z", "x"), (0, 1)
    assert told(made) == [(("x", "z"), (0, 1), "pair", 1), (*zx, None, 1), (*zx, "pair", 1)]


def test_the_hash_can_be_made_from_its_description() -> None:
    ba = ("b", "a"), (2, 1)
    made = log([(*ba, "g"), (("a", "b"), (1, 1), "g"), ba, (("c", "ä", "a"), (1, 2, 2))])
    digest = hashlib.sha256(b'{"players":["a","b","c","\\u00e4"],"groups":["g"],"tables":[[2,3],[3,1]]}\n')
    for row in ((0, 1, 0, 0, 0, 1), (1, 0, 1, 0, -1, 1), (1, 0, 1, 0, 0, 1), (2, 3, 0, 0, 1, 1, -1, 1)):
        digest.update(b"".join(number.to_bytes(4, "little", signed=True) for number in row))
    assert made.sha256 == digest.hexdigest()


@given(LOGS)
def test_the_hash_tells_logs_apart(lines: list[Line]) -> None:
    whole = log(lines).sha256
    assert whole not in {log([*lines, lines[0]]).sha256, log(lines[1:]).sha256}
    assert whole != log([(lines[0][0][::-1], lines[0][1][::-1]), *lines[1:]]).sha256  # the seats are part of the log


@given(LOGS, st.randoms(use_true_random=False))
def test_arrays_in_any_portions_make_the_same_log(lines: list[Line], chance: random.Random) -> None:
    cut = chance.randrange(len(lines) + 1)
    parts = [log(part) for part in (lines[:cut], lines[cut:]) if part]
    players = sorted({player for part in parts for player in part.players}, reverse=True)
    groups = sorted({str(line[2]) for line in lines if len(line) > 2 and line[2] is not None})
    games = [
        Games(
            np.array([[players.index(player) for player in seated]]),
            np.array([ranks]),
            np.array([-1 if group is None else groups.index(str(group))]),
        )
        for seated, ranks, group in [(*line, None)[:3] for line in chance.sample(lines, len(lines))]
    ]
    assert log_of(players, games, groups).sha256 == log(lines).sha256


def test_rows_too_wide_for_one_key_are_sorted_all_the_same() -> None:
    chance = np.random.default_rng(3)
    seated = np.stack([chance.permutation(3000)[:6] for _ in range(400)])
    seated[200:] = seated[:200]
    names = [f"{number:04}" for number in range(3000)]
    made = log_of(names, [Games(seated, np.tile(np.arange(6), (400, 1)))])
    rows = [row for row, _, _, _ in told(made)]
    assert rows == sorted({tuple(names[player] for player in players) for players in seated})
    assert [count for _, _, _, count in told(made)] == [2] * 200


def test_names_that_are_there_twice_are_our_mistake() -> None:
    refused(AssertionError, log_of, ["a", "a"], [])


@given(LOGS)
def test_a_log_comes_back_from_its_lines(lines: list[Line]) -> None:
    made = log(lines)
    again = read(line.encode() for line in lines_of(made))
    assert (again.sha256, told(again)) == (made.sha256, told(made))


def test_a_file_has_a_game_a_line() -> None:
    made = read(
        [
            b'{"players": ["a", "b"], "ranks": [1, 2]}\n',
            b"\n",
            b'{"ranks": [2, 1, 2], "players": [7, "b", "a"], "group": 5, "match": 17}\n',
            b'{"players": ["7", "b"], "ranks": [0, 0], "group": "5"}',
        ]
    )
    assert told(made) == [
        (("7", "b"), (0, 0), "5", 1),
        (("a", "b"), (0, 1), None, 1),
        (("7", "b", "a"), (1, 0, 1), "5", 1),
    ]


GAME = {"players": ["a", "b"], "ranks": [1, 2]}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 60_000, "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b'{"players": ["a", "b"], "ranks": [1, 2]}' + b" " * MOST_LINE_BYTES, "it is longer than"),
        (GAME | {"players": "ab"}, "players must be a list"),
        (GAME | {"players": ["a"], "ranks": [1]}, "players must be a list of 2"),
        (GAME | {"players": ["a", "a"]}, "a player is listed twice"),
        (GAME | {"players": ["1", 1]}, "a player is listed twice"),
        (GAME | {"players": ["a", True]}, "a player must be text or a whole number"),
        (GAME | {"players": ["a", ""]}, "a player must have a name of 1 to 256 characters"),
        (GAME | {"players": ["a", 10**12]}, "a player must have a name"),
        (GAME | {"ranks": [1]}, "ranks must be a list of 2"),
        ({"players": ["a", "b"]}, "ranks must be a list of 2"),
        (GAME | {"ranks": [1, 2.5]}, "ranks must be whole numbers"),
        (GAME | {"ranks": [True, 2]}, "ranks must be whole numbers"),
        (GAME | {"ranks": [1, 10**10]}, "ranks must be whole numbers"),
        (GAME | {"group": []}, "a group must be text or a whole number"),
    ],
)
def test_a_line_that_is_no_game_is_told_by_number(line: bytes | dict[str, object], sentence: str) -> None:
    bad = line if isinstance(line, bytes) else json.dumps(line).encode()
    with pytest.raises(BadLine, match=f"^line 3: {sentence}"):
        read([json.dumps(GAME).encode(), b"", bad, b"and more"])


def test_a_number_of_thousands_of_digits_is_no_name() -> None:
    assert "line 1" in refused(BadLine, read, [b'{"players": ["a", ' + b"1" * 5000 + b'], "ranks": [1, 2]}'])


def test_players_are_bounded() -> None:
    lines = [json.dumps({"players": [number, number + 1], "ranks": [1, 2]}).encode() for number in range(MOST_PLAYERS)]
    with pytest.raises(BadLine, match=f"line {MOST_PLAYERS}: this game brings a further player"):
        read(lines)


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


SIZES: list[Line] = [*duels("a", "b", 3, 2), (("a", "b", "c"), (1, 2, 3)), (("a", "b", "c", "d"), (2, 1, 3, 3))]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [(duels("a", "b", 3, 2), type(None)), (SIZES, float), ([(tuple("abcdefghi"), (1,) * 9)], type(None))],
    ids=["two seats", "tables of different sizes", "too large for its ties"],
)
def test_some_logs_have_a_second_column(lines: list[Line], kind: type) -> None:
    assert {type(elo) for elo in second(rate(log(lines), RatingConfig())).values()} == {kind}


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


def test_where_no_seat_is_better_the_effect_is_within_its_error() -> None:
    chance = np.random.default_rng(12)
    sure = []
    for _ in range(60):
        (effect,) = rate(drawn_tables(chance, 12, 4, 30).log, RatingConfig()).seats()
        sure += [abs(elo) < 1.96 * error for elo, error in zip(effect.elo, effect.se_elo, strict=True)]
    assert 0.9 < np.mean(sure) < 0.99


def test_nothing_is_lost_between_players_and_their_games() -> None:
    made = log(duels("a", "b", 3, 2, 1))
    assert told(made) == [(("a", "b"), (0, 0), None, 1), (("a", "b"), (0, 1), None, 3), (("a", "b"), (1, 0), None, 2)]


@pytest.mark.parametrize("ranks", Ranks)
def test_both_columns_agree_about_results_of_the_model(ranks: Ranks) -> None:
    table = rate(drawn_tables(np.random.default_rng(8), 24, 6, 400).log, RatingConfig(ranks=ranks))
    apart = [entry.elo - (entry.plackett_luce or 0) for entry in table.entries]
    assert np.std(apart) < np.mean([entry.se for entry in table.entries])
