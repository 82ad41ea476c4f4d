"""A lead survives as many wrong results as refits say: of 200 bots, and of few by trying every choice of results."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from deadheat.league.ratings import Games, Log, Prior, RatingConfig, RatingTable, log_of, rate, table
from deadheat.league.ratings.bradley_terry import Posterior
from deadheat.league.ratings.leads import survived
from deadheat.league.ratings.linear import maximum, one_thread
from tests.league.logs import Line, duels, log

pytestmark = pytest.mark.quick

Result = tuple[str, str, float]
"""A player, the opponent, and the points that move from the former to the latter if the result is reversed."""


def season(players: int, rounds: int, spread: float, seed: int) -> Log:
    """Return random matchings of players of normal strengths, with one draw in ten."""
    chance = np.random.default_rng(seed)
    strengths = chance.normal(0, spread, players)
    seated = np.concatenate([chance.permutation(players) for _ in range(rounds)]).reshape(-1, 2)
    wins = chance.random(len(seated)) < 1 / (1 + np.exp(strengths[seated[:, 1]] - strengths[seated[:, 0]]))
    ranks = np.where(wins[:, None], [[0, 1]], [[1, 0]])
    ranks[chance.random(len(seated)) < 0.1] = 0
    return log_of([f"p{number:03}" for number in range(players)], [Games(seated, ranks, None)], [])


class Refits:
    """Refits of a table with reversed results."""

    def __init__(self, table: RatingTable) -> None:
        self.table = table
        self.place = {player: number for number, player in enumerate(table.players)}
        pairs = table.posterior.pairs
        self.pair = {ends: at for at, ends in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))}
        upper = np.triu(table.posterior.curvature(table.strengths))
        self.covariance = np.linalg.inv(upper + np.triu(upper, 1).T)

    def gap(self, one: str, other: str, reversed_results: Sequence[Result]) -> float:
        """Return how far `one` is ahead of `other` with these results reversed."""
        posterior = self.table.posterior
        wins = posterior.pairs.wins.copy()
        for player, opponent, points in reversed_results:
            ends = self.place[player], self.place[opponent]
            if ends in self.pair:
                wins[self.pair[ends]] -= points
            else:
                wins[self.pair[ends[::-1]]] += points
        refitted = Posterior(posterior.players, replace(posterior.pairs, wins=wins), posterior.beliefs)
        found = maximum(refitted, self.table.strengths)
        return float(found[self.place[one]] - found[self.place[other]])

    def results(self, one: str, other: str) -> list[Result]:
        """Return the results of the two that may be reversed against the lead, those of most influence first."""
        found: list[Result] = []
        for tables in self.table.tables:
            for seats, ranks, count in zip(tables.players, tables.ranks, tables.counts, strict=True):
                first, second = (self.table.players[seat] for seat in seats)
                for player, opponent in ((first, second), (second, first)):
                    own, its = ranks if player == first else ranks[::-1]
                    if own <= its and (player == one or (opponent == other and player != other)):
                        found += [(player, opponent, 0.5 if own == its else 1.0)] * int(count)
        ahead, behind = self.place[one], self.place[other]
        moved = self.covariance[ahead] - self.covariance[behind]
        influence = {
            each: each[2] * (moved[self.place[each[0]]] - moved[self.place[each[1]]]) for each in dict.fromkeys(found)
        }
        return sorted((each for each in found if influence[each] > 0), key=lambda each: -influence[each])


@pytest.mark.parametrize("apart", [1, 40])
def test_leads_among_200_bots_survive_what_refits_say(apart: int) -> None:
    table = rate(season(200, 60, 1.0, 11), RatingConfig())
    refits, order = Refits(table), [entry.player for entry in table.entries]
    leads = [*zip(order, order[apart:], strict=False)][::3]
    ahead, behind = np.array([[refits.place[player] for player in lead] for lead in leads]).T
    with one_thread():
        found = survived(table.posterior, table.strengths, ahead, behind)
        for (one, other), count in zip(leads, found.astype(int), strict=True):
            results = refits.results(one, other)
            assert refits.gap(one, other, results[:count]) > 0, (one, other)
            assert refits.gap(one, other, results[: count + 1]) <= 1e-9, (one, other)


@pytest.mark.parametrize("seed", range(6))
def test_no_other_choice_of_results_turns_a_lead_sooner(seed: int) -> None:
    table = rate(season(4, 6, 1.5, seed), RatingConfig())
    refits = Refits(table)
    one, *_, other = (entry.player for entry in table.entries)
    ends = np.array([refits.place[one]]), np.array([refits.place[other]])
    count = int(survived(table.posterior, table.strengths, *ends)[0])
    results = refits.results(one, other)
    tried = [refits.gap(one, other, chosen) for chosen in combinations(results, count)]
    assert min(tried) > 0 >= refits.gap(one, other, results[: count + 1])


def test_a_single_game_may_be_the_wrong_one_and_two_of_three_leave_a_lead() -> None:
    assert rate(log(duels("a", "b", 1)), RatingConfig()).leads([("a", "b")]) == {"a": 0}
    assert rate(log(duels("a", "b", 9, 4)), RatingConfig()).leads([("a", "b")]) == {"a": 2}
    assert rate(log(duels("a", "b", 10, 4)), RatingConfig()).leads([("a", "b")]) == {"a": 2}


def test_equal_places_tables_of_three_and_leads_from_elsewhere_have_none() -> None:
    level = rate(log(duels("a", "b", 3, 3)), RatingConfig())
    assert level.leads([("a", "b")]) == {}
    three: list[Line] = [(("a", "b", "c"), (1, 2, 3))]
    assert rate(log(three), RatingConfig()).leads([("a", "b", "c")]) == {}
    strong = {"a": Prior(mean_elo=2200, sd_elo=30), "b": Prior(mean_elo=1500, sd_elo=30)}
    rated = rate(log(duels("a", "b", 1)), RatingConfig(), strong)
    assert rated.leads([("a", "b")]) == {}, "the season before decided it, not one game"
    ends = np.array([rated.players.index("a")]), np.array([rated.players.index("b")])
    assert math.isinf(survived(rated.posterior, rated.strengths, *ends)[0])


def test_a_league_of_very_many_versions_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rated = rate(log(duels("a", "b", 9, 4)), RatingConfig())
    monkeypatch.setattr(table, "MOST_PLAYERS", 1)
    assert rated.leads([("a", "b")]) == {}
