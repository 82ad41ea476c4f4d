"""Errors of ratings, intervals of places, and performances."""

from itertools import combinations

import numpy as np
import pytest

from deadheat.league.ratings import ELO_PER_NAT, Place, Prior, RatingConfig, RatingTable, performances, rate
from deadheat.league.ratings.errors import ESTABLISHED_GAMES
from deadheat.league.ratings.table import places_of
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


def test_under_fifty_tables_it_is_the_model_with_what_a_table_of_equals_varies() -> None:
    """At a table of three equals, the score varies 4/3 times as much as in three separate pairs."""
    tables, places = ("abc", "bca", "cab"), ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    lines: list[Line] = [(tuple(players), ranks) for players in tables for ranks in places]
    table = rate(log(lines), RatingConfig())
    bread = np.linalg.inv(curvature([(0, 1, 9 / 4), (0, 2, 9 / 4), (1, 2, 9 / 4)], 3) + PRIOR * np.eye(3))
    meat = curvature([(0, 1, 3.0), (0, 2, 3.0), (1, 2, 3.0)], 3) + PRIOR * np.eye(3)
    assert deviations(table) == pytest.approx(around_the_field(bread @ meat @ bread, np.array([9, 9, 9])))


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


SHA = "5" * 64


def places(table: RatingTable) -> dict[str, Place]:
    return {entry.player: entry.place for entry in table.entries if entry.place is not None}


COMMON = np.hstack([500 * np.ones((3, 1)), 0.5 * np.eye(3)])
PLACES = {
    "far ahead": ([0.0, 300, -300], np.eye(3), [(2, 2, 2), (1, 1, 1), (3, 3, 3)]),
    "shown equal": ([1500.2, 1499.9, 1600, 1500.6], 0.001 * np.eye(4), [(3, 3, 3), (3, 3, 4), (1, 1, 1), (2, 2, 2)]),
    "equals may be anywhere among themselves": ([0.0] * 4, 30 * np.eye(4), [(1, 1, 4)] * 4),
    "a common error moves nobody": ([30.0, 20, 10], COMMON, [(1, 1, 1), (2, 2, 2), (3, 3, 3)]),
    # One deviation apart, the second is ahead in 16 % of the draws; with 2.2 deviations, in 1.4 %.
    "one deviation apart": ([1.0, 0], np.array([[1.0], [0.0]]), [(1, 1, 2), (2, 1, 2)]),
    "2.2 deviations apart": ([2.2, 0], np.array([[1.0], [0.0]]), [(1, 1, 1), (2, 2, 2)]),
}


@pytest.mark.parametrize(("elo", "factor", "expected_places"), PLACES.values(), ids=PLACES)
def test_a_place_has_the_interval_of_its_draws(elo: list[float], factor: np.ndarray, expected_places: object) -> None:
    found = places_of(np.array(elo), factor, SHA)
    assert [*zip(found.rank, found.low, found.high, strict=True)] == expected_places


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


PANEL = {f"panel{number}": 1200.0 + 100 * number for number in range(7)}
GAMES = 2


def games(random: np.random.Generator, who: str, elo: float) -> list[Line]:
    """Draw the games of a player of strength `elo` against each bot of the panel."""
    found: list[Line] = []
    for opponent, strength in PANEL.items():
        wins = random.binomial(GAMES, 1 / (1 + np.exp((strength - elo) / ELO_PER_NAT)))
        found += duels(who, opponent, wins, GAMES - wins)
    return found


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(300):
        # The panel's ratings deviate as much as their errors say, and the newcomer's strength is arbitrary.
        known = {name: Prior(mean_elo=random.normal(elo, 40), sd_elo=40) for name, elo in PANEL.items()}
        truth = random.normal(1500, 350)
        found = performances(log(games(random, "new", truth)), RatingConfig(), PANEL, known)["new"]
        held += abs(found.elo - truth) < 1.96 * found.se
    assert 0.91 <= held / 300 <= 0.99


def test_a_panel_of_which_nothing_is_known_has_its_mean_at_the_centre() -> None:
    half = [game for opponent in PANEL for game in duels("half", opponent, 1, 1)]
    best = [game for opponent in PANEL for game in duels("best", opponent, 2, 0)]
    found = performances(log(half + best), RatingConfig(), PANEL, {})
    assert found["half"].elo == pytest.approx(1500, abs=10)
    assert found["best"].elo > 1800
    assert found["half"].se < found["best"].se < 350


def test_others_tell_how_strong_a_panel_is_of_which_nothing_is_known() -> None:
    """One player beats only the strong bot, another only the weak one; the first has done better."""
    field = [
        game
        for number in range(20)
        for game in (*duels(f"x{number}", "weak", 2, 0), *duels(f"x{number}", "hard", 0, 2))
    ]
    two = [*duels("one", "hard", 2, 0), *duels("other", "weak", 2, 0)]
    found = performances(log([*field, *two]), RatingConfig(), ["weak", "hard"], {})
    assert found["one"].elo > found["other"].elo + 200


def test_without_games_there_is_no_performance() -> None:
    assert performances(log([]), RatingConfig(), PANEL, {}) == {}


def test_a_group_of_one_game_changes_nothing() -> None:
    lines: list[Line] = [(*game, f"g{number}") for number, game in enumerate(duels("a", "b", 40, 30, 20))]
    assert rate(log(lines), RatingConfig()).entries == rate(log(duels("a", "b", 40, 30, 20)), RatingConfig()).entries


def test_gaps_between_neighbours_come_with_their_errors() -> None:
    entries = rate(log([*duels("a", "b", 30, 10), *duels("b", "c", 30, 10)]), RatingConfig()).entries
    places = [entry.place for entry in entries]
    assert [place is not None and place.gap_elo for place in places] == pytest.approx(
        [entries[0].elo - entries[1].elo, entries[1].elo - entries[2].elo, None]
    )
    for place, entry, following in zip(places, entries, entries[1:], strict=False):
        assert place is not None and place.gap_se is not None
        assert abs(entry.se - following.se) < place.gap_se < entry.se + following.se


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


def test_ratings_that_are_shown_equal_share_a_place() -> None:
    assert places_of(np.array([1500.2, 1499.9, 1600, 1500.6, 1400]), np.eye(5), SHA).rank.tolist() == [3, 3, 1, 2, 5]
