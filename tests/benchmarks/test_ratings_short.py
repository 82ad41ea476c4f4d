"""The ratings' benchmark runs, in its short mode; whether it reaches its targets is for ./scripts/bench to say."""

import pytest

from tests.benchmarks.test_short_modes import short


@pytest.mark.all
def test_how_good_the_ratings_are() -> None:
    table = short("ratings")
    assert [line[:3] for line in table.splitlines() if line.startswith("(")] == [f"({part})" for part in "abcdef"]
    figures = "tau|coverage|half-width|openskill|1,000,000 games|false passes|false fails|by throwing|(default)"
    assert [figure for figure in figures.split("|") if figure not in table] == []
