"""The ratings' benchmark runs, in its short mode; whether it reaches its targets is for ./scripts/bench to say."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from tests.benchmarks.ratings import pairs, single_games
from tests.benchmarks.targets import Targets
from tests.benchmarks.test_short_modes import short


@pytest.mark.all
def test_how_good_the_ratings_are() -> None:
    table = short("ratings")
    assert [line[:3] for line in table.splitlines() if line.startswith("(")] == [f"({part})" for part in "abcdef"]
    figures = "tau|coverage|half-width|openskill|1,000,000 games|false passes|false fails|by throwing|(default)"
    assert [figure for figure in figures.split("|") if figure not in table] == []


def test_a_missed_target_is_said_and_counted() -> None:
    targets = Targets()
    assert targets.shown("tau", 0.9, least=0.8) == "0.900 (>= 0.8)"
    assert targets.shown("tau", 0.7, least=0.8) == "0.700 (>= 0.8) MISSED"
    assert targets.shown("coverage", 0.99, 0.9, 0.97) == "0.990 (0.9 to 0.97) MISSED"
    assert targets.shown("seconds", 0.1, most=0.2) == "0.100 (<= 0.2)"
    assert targets.shown("games", 400, form=".0f") == "400"
    assert [sentence.split(":")[0] for sentence in targets.missed] == ["tau", "coverage"]


def test_a_short_run_may_be_a_tenth_behind_what_was_reached() -> None:
    targets = Targets(short=True)
    assert targets.shown("kept", 1.6, most=1.5) == "1.600 (<= 1.5)"
    assert (targets.shown("match", 2.9, most=1.3, reached=2.8), targets.missed) == ("2.900 (<= 2.8)", [])
    assert targets.shown("kept", 1.7, most=1.5) == "1.700 (<= 1.5) MISSED"
    assert (targets.shown("match", 3.1, most=1.3, reached=2.8), targets.report()) == ("3.100 (<= 2.8) MISSED", 1)
    assert Targets().shown("match", 2.9, most=1.3, reached=2.8) == "2.900 (<= 1.3) MISSED"


@pytest.mark.parametrize("elo", [0.0, 50.0])
def test_pairs_have_the_mean_of_single_games_and_more_variance(elo: float) -> None:
    single, double = np.array(single_games(elo)), np.array(pairs(elo))
    assert single.sum() == pytest.approx(1)
    assert double.sum() == pytest.approx(1)
    one, two = np.linspace(0, 1, 3), np.linspace(0, 2, 5)
    assert two @ double == pytest.approx(2 * (one @ single))
    variance = (one**2 @ single) - (one @ single) ** 2
    assert (two**2 @ double) - (two @ double) ** 2 == pytest.approx(fmean([2, 4]) * variance)
