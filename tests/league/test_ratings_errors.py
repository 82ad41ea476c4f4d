"""Errors of ratings agree with their formulas, and intervals hold the truth as often as they say."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from deadheat.league.ratings import ELO_PER_NAT, Prior, RatingConfig, RatingTable, rate
from deadheat.league.ratings.errors import ESTABLISHED_GAMES
from deadheat.league.states import Ranks
from tests.league.logs import Drawn, Line, drawn_duels, drawn_tables, duel_ranks, duels, log

pytestmark = pytest.mark.quick

SD_ELO = 350.0
PRIOR = (ELO_PER_NAT / SD_ELO) ** 2


def deviations(table: RatingTable) -> np.ndarray:
    """Return standard errors in natural units, in order of name."""
    return np.array([entry.se for entry in sorted(table.entries, key=lambda entry: entry.player)]) / ELO_PER_NAT


def around_the_field(covariance: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Return standard errors of the distances to the mean that is weighted by games."""
    size = len(games)
    distance = np.eye(size) - np.outer(np.ones(size), games / games.sum())
    return np.sqrt(np.diag(distance @ covariance @ distance.T))


def curvature(pairs: list[tuple[int, int, float]], size: int) -> np.ndarray:
    """Return the curvature of the log likelihood, given the information of each pair."""
    found = np.zeros((size, size))
    for one, other, information in pairs:
        apart = np.zeros(size)
        apart[one], apart[other] = 1, -1
        found += information * np.outer(apart, apart)
    return found


def expected(table: RatingTable, one: int, other: int) -> float:
    return float(1 / (1 + np.exp(table.strengths[other] - table.strengths[one])))


def test_under_fifty_games_it_is_the_posteriors_curvature() -> None:
    table = rate(log([*duels("a", "b", 8, 4, 3), *duels("b", "c", 6, 9), *duels("a", "c", 7, 2, 5)]), RatingConfig())
    games = {(0, 1): 15, (1, 2): 15, (0, 2): 14}
    told = [(one, other, n * (p := expected(table, one, other)) * (1 - p)) for (one, other), n in games.items()]
    covariance = np.linalg.inv(curvature(told, 3) + PRIOR * np.eye(3))
    assert deviations(table) == pytest.approx(around_the_field(covariance, np.array([29, 30, 29])))


RESULTS = {(0, 1): (20, 10, 12), (1, 2): (18, 16, 10), (0, 2): (22, 8, 14)}
LINES = [game for (one, other), counts in RESULTS.items() for game in duels("abcd"[one], "abcd"[other], *counts)]


def told_and_dispersion(table: RatingTable) -> tuple[list[tuple[int, int, float]], float]:
    """Return the binomial information of each pair, and the dispersion of the results."""
    told, squares, binomial = [], 0.0, 0.0
    for (one, other), (wins, losses, draws) in RESULTS.items():
        p, n = expected(table, one, other), wins + losses + draws
        squares += wins * (1 - p) ** 2 + losses * p**2 + draws * (0.5 - p) ** 2
        binomial += n * p * (1 - p)
        told.append((one, other, n * p * (1 - p)))
    return told, squares / binomial


def test_from_fifty_games_on_the_datas_part_is_divided_by_the_dispersion() -> None:
    table = rate(log(LINES), RatingConfig())
    told, dispersion = told_and_dispersion(table)
    assert dispersion < 0.8
    covariance = np.linalg.inv(curvature(told, 3) / dispersion + PRIOR * np.eye(3))
    assert deviations(table) == pytest.approx(around_the_field(covariance, np.array([86, 86, 88])))


def test_games_with_a_newcomer_are_not_divided() -> None:
    table = rate(log([*LINES, *duels("a", "d", 5, 3, 12)]), RatingConfig())
    told, dispersion = told_and_dispersion(table)
    p = expected(table, 0, 3)
    data = curvature(told, 4) / dispersion + curvature([(0, 3, 20 * p * (1 - p))], 4)
    covariance = np.linalg.inv(data + PRIOR * np.eye(4))
    assert deviations(table) == pytest.approx(around_the_field(covariance, np.array([106, 86, 88, 20])))


def test_the_dispersion_is_at_most_one_and_never_nothing() -> None:
    decided = rate(log(duels("a", "b", 100, 100)), RatingConfig(prior_sd_elo=None)).entries[0].se
    drawn = rate(log(duels("a", "b", 0, 0, 200)), RatingConfig(prior_sd_elo=None)).entries[0].se
    assert decided == pytest.approx(ELO_PER_NAT / np.sqrt(200 * 0.25) / 2)
    assert drawn == pytest.approx(decided * np.sqrt(0.1))


def sandwich(drawn: Drawn, table: RatingTable, clusters: list[list[int]]) -> np.ndarray:
    """Return standard errors by the sandwich formula, game by game and cluster by cluster."""
    size = len(drawn.names)
    score, told = np.zeros((size, size)), []
    for members in clusters:
        residual = np.zeros(size)
        for game in members:
            seated = zip(drawn.games.players[game], drawn.games.ranks[game], strict=True)
            for (one, rank), (other, other_rank) in combinations(seated, 2):
                p = expected(table, one, other)
                result = (1 + int(rank < other_rank) - int(rank > other_rank)) / 2
                residual[one] += result - p
                residual[other] -= result - p
                told.append((one, other, p * (1 - p)))
        score += np.outer(residual, residual)
    prior = PRIOR * np.eye(size)
    bread = np.linalg.inv(curvature(told, size) + prior)
    games = np.bincount(drawn.games.players.ravel(), minlength=size)
    return around_the_field(bread @ (score + prior) @ bread, games)


def test_tables_of_four_are_clusters_of_a_sandwich() -> None:
    drawn = drawn_tables(np.random.default_rng(2), 8, 4, ESTABLISHED_GAMES)
    table = rate(drawn.log, RatingConfig())
    clusters = [[game] for game in range(len(drawn.games.players))]
    assert deviations(table) == pytest.approx(sandwich(drawn, table, clusters), rel=1e-6)


def test_games_with_the_same_dice_are_one_cluster() -> None:
    drawn = mirrored(np.random.default_rng(3), 6, ESTABLISHED_GAMES)
    table = rate(drawn.log, RatingConfig())
    half = len(drawn.games.players) // 2
    clusters = [[game, game + half] for game in range(half)]
    assert deviations(table) == pytest.approx(sandwich(drawn, table, clusters), rel=1e-6)


def mirrored(chance: np.random.Generator, players: int, games_each: int) -> Drawn:
    """Repeat every game with seats exchanged and the same winner: the worst that shared dice can do."""
    drawn = drawn_duels(chance, players, games_each // 2)
    count = len(drawn.games.players)
    games = type(drawn.games)(
        np.vstack([drawn.games.players, drawn.games.players[:, ::-1]]),
        np.vstack([drawn.games.ranks, drawn.games.ranks[:, ::-1]]),
        np.tile(np.arange(count), 2),
    )
    return Drawn(drawn.truth_elo, drawn.names, games, tuple(map(str, range(count))))


def test_a_group_of_one_game_changes_nothing() -> None:
    lines: list[Line] = [(*game, f"g{number}") for number, game in enumerate(duels("a", "b", 40, 30, 20))]
    assert rate(log(lines), RatingConfig()).entries == rate(log(duels("a", "b", 40, 30, 20)), RatingConfig()).entries


def test_under_fifty_tables_it_is_the_model_with_what_a_table_of_equals_varies() -> None:
    """At a table of three equals, the score varies 4/3 times as much as in three separate pairs."""
    tables, places = ("abc", "bca", "cab"), ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    lines: list[Line] = [(tuple(players), ranks) for players in tables for ranks in places]
    table = rate(log(lines), RatingConfig())
    bread = np.linalg.inv(curvature([(0, 1, 9 / 4), (0, 2, 9 / 4), (1, 2, 9 / 4)], 3) + PRIOR * np.eye(3))
    meat = curvature([(0, 1, 3.0), (0, 2, 3.0), (1, 2, 3.0)], 3) + PRIOR * np.eye(3)
    assert deviations(table) == pytest.approx(around_the_field(bread @ meat @ bread, np.array([9, 9, 9])))


def test_gaps_between_neighbours_come_with_their_errors() -> None:
    entries = rate(log([*duels("a", "b", 30, 10), *duels("b", "c", 30, 10)]), RatingConfig()).entries
    places = [entry.place for entry in entries]
    assert [place is not None and place.gap_elo for place in places] == pytest.approx(
        [entries[0].elo - entries[1].elo, entries[1].elo - entries[2].elo, None]
    )
    for place, entry, following in zip(places, entries, entries[1:], strict=False):
        assert place is not None and place.gap_se is not None
        assert abs(entry.se - following.se) < place.gap_se < entry.se + following.se


# Do the intervals contain the truth? The bounds are wide enough for the few logs drawn here; ./scripts/bench ratings
# draws more.


def coverage(logs: list[Drawn], config: RatingConfig) -> float:
    """Return the share of players whose distance to the field lies in its interval."""
    inside = []
    for drawn in logs:
        found = {entry.player: entry for entry in rate(drawn.log, config).entries}
        entries = [found[name] for name in drawn.names]
        games = np.array([entry.games for entry in entries])
        elo = np.array([entry.elo for entry in entries])
        error = (elo - games @ elo / games.sum()) - (drawn.truth_elo - games @ drawn.truth_elo / games.sum())
        inside += list(np.abs(error) < 1.96 * np.array([entry.se for entry in entries]))
    return float(np.mean(inside))


@pytest.mark.parametrize("games", [20, 50, 100])
def test_intervals_of_two_player_games_hold_the_truth(games: int) -> None:
    chance = np.random.default_rng(games)
    assert 0.92 < coverage([drawn_duels(chance, 60, games) for _ in range(6)], RatingConfig()) < 0.995


@pytest.mark.parametrize("ranks", Ranks)
@pytest.mark.parametrize(("seats", "tables"), [(3, 30), (4, 60), (6, 60), (6, 180)])
def test_intervals_of_tables_hold_the_truth(seats: int, tables: int, ranks: Ranks) -> None:
    chance = np.random.default_rng(seats * tables)
    logs = [drawn_tables(chance, 48, seats, tables) for _ in range(8)]
    assert 0.89 < coverage(logs, RatingConfig(ranks=ranks)) < 0.995


@pytest.mark.parametrize("games", [30, 100])
def test_intervals_of_games_with_shared_dice_hold_the_truth(games: int) -> None:
    chance = np.random.default_rng(games)
    logs = [mirrored(chance, 40, games) for _ in range(8)]
    assert 0.9 < coverage(logs, RatingConfig()) < 0.995
    ungrouped = [Drawn(one.truth_elo, one.names, type(one.games)(one.games.players, one.games.ranks)) for one in logs]
    assert coverage(ungrouped, RatingConfig()) < 0.9  # so groups make the difference


def test_versions_that_change_are_rated_better_in_a_chain() -> None:
    """Twenty bots are resubmitted, slightly changed; their ten new games alone tell little."""
    chance = np.random.default_rng(11)
    first = drawn_duels(chance, 20, 60)
    second = first.truth_elo + chance.normal(0, 90, 20)
    seated = first.games.players[:100]
    ranks = duel_ranks(chance, second[seated[:, 0]] - second[seated[:, 1]])
    seats = zip(first.games.players, first.games.ranks, strict=True)
    lines = [((f"{a}.1", f"{b}.1"), tuple(rank)) for (a, b), rank in seats]
    lines += [((f"{a}.2", f"{b}.2"), tuple(rank)) for (a, b), rank in zip(seated, ranks, strict=True)]
    chain = {f"{number}.2": Prior(parent=f"{number}.1") for number in range(20)}

    def miss(table: RatingTable) -> float:
        found = {entry.player: entry.elo for entry in table.entries}
        new = np.array([found[f"{number}.2"] for number in range(20)])
        return float(np.sqrt(np.mean(((new - new.mean()) - (second - second.mean())) ** 2)))

    assert miss(rate(log(lines), RatingConfig(), chain)) < 0.8 * miss(rate(log(lines), RatingConfig()))
