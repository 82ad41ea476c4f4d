"""The search finds the best point of simulated surfaces within the stated number of games, with the luck of games."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deadheat.cli.tuning.surface import Array, fit
from tests.lanes import scaled

pytestmark = pytest.mark.quick

PANEL_ELO = (100.0, -50.0)
"""The opponents' strengths above the best point's: a point plays a pair of games against each."""

GAMES, BATCH = 4, 16
Elo = Callable[[Array], Array]


def hill(best: Array) -> Elo:
    """200 Elo are lost at half the range from the best point."""
    return lambda points: -800 * np.sum((points - best) ** 2, axis=-1)


def peak(best: Array) -> Elo:
    """Nothing is gained more than a third of the range from the best point, where 300 Elo are lost."""
    return lambda points: -300 * (1 - np.exp(-np.sum((points - best) ** 2, axis=-1) / 0.045))


def ridge(best: Array) -> Elo:
    """The sum of the first two matters four times as much as each alone."""
    return lambda p: -400 * np.sum((p - best) ** 2, -1) - 1600 * ((p - best)[..., 0] + (p - best)[..., 1]) ** 2


def only_the_first(best: Array) -> Elo:
    return lambda points: -800 * (points - best)[..., 0] ** 2


def chance_to_win(elo: Array) -> Array:
    return np.asarray(1 / (1 + 10 ** (-elo / 400)), np.float64)


def search(
    elo: Elo, parameters: int, games: int, luck: np.random.Generator, rounded: Callable[[Array], Array]
) -> Array:
    points = rounded(luck.random((BATCH, parameters)))
    scores = np.zeros(0)
    while True:
        new = points[len(scores) :]
        wins = sum(luck.binomial(2, chance_to_win(elo(new) - other)) for other in PANEL_ELO)
        scores = np.append(scores, wins / GAMES)
        surface = fit(points, scores, np.full(len(points), float(GAMES)))
        if len(points) * GAMES >= games:
            return surface.best(rounded)
        points = np.vstack([points, rounded(surface.draw(BATCH, luck))])


def lost(made: Callable[[Array], Elo], parameters: int, games: int, step: float = 0) -> float:
    """Return the mean strength, in Elo, that the points found lack, over several seeded searches."""
    losses = []
    for seed in range(scaled(24, 6)):
        luck = np.random.default_rng(seed)
        best = luck.uniform(0.2, 0.8, parameters)
        elo = made(best)
        found = search(elo, parameters, games, luck, lambda p: np.round(p / step) * step if step else p)
        losses.append(-float(elo(found)))
    return float(np.mean(losses))


# The bounds are about twice the means over 24 searches.


@pytest.mark.parametrize(
    ("made", "parameters", "games", "most_elo"),
    [(hill, 1, 200, 8), (hill, 2, 500, 10), (hill, 3, 1000, 12), (hill, 4, 1000, 25), (ridge, 2, 1000, 10)],
)
def test_a_hill_is_climbed(made: Callable[[Array], Elo], parameters: int, games: int, most_elo: float) -> None:
    assert lost(made, parameters, games) < most_elo


def test_a_peak_in_a_plain_is_found_by_one_and_two_parameters() -> None:
    assert lost(peak, 1, 500) < 10
    assert lost(peak, 2, 2000) < 20


def test_a_parameter_without_effect_does_no_harm() -> None:
    assert lost(only_the_first, 3, 1000) < 8


def test_whole_numbers_are_found_too() -> None:
    assert lost(hill, 2, 1000, step=0.1) < 8


def test_the_region_shrinks_only_where_games_show_a_difference() -> None:
    luck = np.random.default_rng(3)
    points = luck.random((400, 2))
    wins = luck.binomial(2, chance_to_win(only_the_first(np.array([0.5, 0.5]))(points) * 4)) / 2
    steep, flat = fit(points, wins, np.full(400, 2.0)).spread
    assert steep < 0.7 * flat
    assert flat > 0.25, "a range that is played all over has a deviation of 0.29"


def test_the_same_games_and_seed_lead_to_the_same_points() -> None:
    luck = np.random.default_rng(5)
    points, scores = luck.random((20, 3)), luck.random(20)
    drawn = [fit(points, scores, np.ones(20)).draw(8, np.random.default_rng(1)) for _ in range(2)]
    assert (drawn[0] == drawn[1]).all()
    assert ((drawn[0] >= 0) & (drawn[0] <= 1)).all()


def test_one_sided_results_have_a_surface() -> None:
    points = np.random.default_rng(1).random((16, 2))
    for score in (0.0, 1.0):
        surface = fit(points, np.full(16, score), np.full(16, 4.0))
        assert np.isfinite(surface.draw(4, np.random.default_rng(2))).all()
        assert abs(float(surface.expected(surface.centre[None])[0]) - score) < 0.2
