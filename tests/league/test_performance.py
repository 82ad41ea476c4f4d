"""Estimated performances are on the panel's scale, and their errors are honest."""

from __future__ import annotations

import numpy as np
import pytest

from deadheat.league.ratings import ELO_PER_NAT, Prior, RatingConfig, performances
from tests.league.logs import Line, duels, log

pytestmark = pytest.mark.quick

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
