"""Further games tell neighbours in a ranking apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.figures import NORMAL_95
from deadheat.league.pairing.separation import ELO_PER_NAT, Gap, games_to_part, share_out


def after(covariance: np.ndarray, one: int, other: int, games: int, difference_elo: float) -> float:
    """Return the variance of a difference after more games, by adding them to the information matrix."""
    p = 1 / (1 + 10 ** (-difference_elo / 400))
    contrast = np.zeros(len(covariance))
    contrast[one], contrast[other] = 1, -1
    information = np.linalg.inv(covariance) + games * p * (1 - p) / ELO_PER_NAT**2 * np.outer(contrast, contrast)
    return float(contrast @ np.linalg.inv(information) @ contrast)


def unseparated(elo: Sequence[float], covariance: np.ndarray) -> list[Gap]:
    """Return the pairs of neighbours that still need games, from the top of the ranking."""
    pairs = [(above, above + 1) for above in range(len(elo) - 1)]
    variances = [covariance[a, a] + covariance[b, b] - 2 * covariance[a, b] for a, b in pairs]
    found = [
        (a, b, games_to_part(elo[a] - elo[b], float(v), 10_000)) for (a, b), v in zip(pairs, variances, strict=True)
    ]
    return [Gap(above, below, games) for above, below, games in found if games]


def test_a_pair_that_is_apart_needs_no_games() -> None:
    assert games_to_part(100, 2 * 25.0**2, 1000) == 0


@given(st.floats(5, 300), st.floats(10, 150), st.floats(-0.5, 0.9))
def test_as_many_games_as_asked_for_would_do_and_one_less_would_not(difference: float, se: float, link: float) -> None:
    covariance = np.array([[1, link, 0.1], [link, 1, 0], [0.1, 0, 1]]) * se**2
    before = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    games = games_to_part(difference, before, 10**9)
    if games == 0:
        assert difference > NORMAL_95 * before**0.5
        return
    assert difference >= NORMAL_95 * after(covariance, 0, 1, games, difference) ** 0.5 * (1 - 1e-9)
    assert difference <= NORMAL_95 * after(covariance, 0, 1, games - 1, difference) ** 0.5 * (1 + 1e-9)


def test_equals_need_whatever_the_cap_is() -> None:
    assert (games_to_part(0, 100, 500), games_to_part(1e-9, 100, 500)) == (500, 500)


def test_a_budget_is_shared_out_by_the_series_from_the_top() -> None:
    gaps = [Gap(1, 2, 500), Gap(2, 3, 4), Gap(5, 6, 50)]
    assert share_out(gaps, 100, 10) == [Gap(1, 2, 10), Gap(2, 3, 4), Gap(5, 6, 10)]
    assert share_out(gaps, 12, 10) == [Gap(1, 2, 10), Gap(2, 3, 2)]
    assert share_out(gaps, 0, 10) == share_out([], 10, 10) == []


def test_only_whole_turns_are_shared_out() -> None:
    gaps = [Gap(1, 2, 500), Gap(2, 3, 1), Gap(5, 6, 50)]
    assert share_out(gaps, 100, 10, 4) == [Gap(1, 2, 8), Gap(2, 3, 4), Gap(5, 6, 8)]
    assert share_out(gaps, 11, 10, 4) == [Gap(1, 2, 8)]
    assert share_out(gaps, 12, 2, 4) == [Gap(1, 2, 4), Gap(2, 3, 4), Gap(5, 6, 4)]
    assert share_out(gaps, 3, 10, 4) == []


@given(st.integers(0, 2**32 - 1), st.integers(0, 3000))
def test_playing_what_is_shared_out_ends_with_everyone_apart_or_the_budget_spent(seed: int, budget: int) -> None:
    """The games change the covariance but not the ratings."""
    chance = np.random.default_rng(seed)
    elo = sorted(chance.normal(0, 150, 6), reverse=True)
    covariance = np.diag(chance.uniform(20, 80, 6) ** 2)
    while shared := share_out(unseparated(elo, covariance), budget, 10):
        for gap in shared:
            budget -= gap.games
            p = 1 / (1 + 10 ** (-(elo[gap.above] - elo[gap.below]) / 400))
            contrast = np.zeros(6)
            contrast[gap.above], contrast[gap.below] = 1, -1
            weight = gap.games * p * (1 - p) / ELO_PER_NAT**2
            covariance = np.linalg.inv(np.linalg.inv(covariance) + weight * np.outer(contrast, contrast))
        assert budget >= 0
    assert budget == 0 or not unseparated(elo, covariance)
