"""Ratings against known answers, and that only the log's content counts."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.ratings import ELO_PER_NAT, Game, NoRating, RatingConfig, fit, log_sha256

MAXIMUM_LIKELIHOOD = RatingConfig(centre_elo=0, prior_sd_elo=None)

# The American League of 1987, wins of the row over the column (Agresti, Categorical Data Analysis, section 10.6).
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
STRENGTHS = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)


def games(one: str, other: str, wins: int, losses: int = 0, draws: int = 0) -> list[Game]:
    pair = (one, other)
    return [Game(pair, (1, 2))] * wins + [Game(pair, (2, 1))] * losses + [Game(pair, (1, 1))] * draws


def baseball() -> list[Game]:
    return [
        game
        for row, one in enumerate(TEAMS)
        for column, other in enumerate(TEAMS)
        if row != column
        for game in games(one, other, WINS[row][column])
    ]


def test_the_american_league_of_1987_has_its_published_strengths() -> None:
    nats = {entry.player: entry.elo / ELO_PER_NAT for entry in fit(baseball(), MAXIMUM_LIKELIHOOD).entries}
    for team, strength in zip(TEAMS, STRENGTHS, strict=True):
        assert nats[team] - nats["Baltimore"] == pytest.approx(strength, abs=5e-5)


def test_seven_of_ten_are_147_elo() -> None:
    first, second = fit(games("a", "b", 7, 3), MAXIMUM_LIKELIHOOD).entries
    assert first.elo - second.elo == pytest.approx(147.19, abs=0.005)
    assert first.se + second.se == pytest.approx(119.88, abs=0.005)  # they are perfectly opposed: errors add up


def test_a_draw_is_half_a_win() -> None:
    drawn = fit(games("a", "b", 0, 0, 10), RatingConfig()).entries
    assert [entry.elo for entry in drawn] == pytest.approx([1500, 1500])
    halves, wins = fit(games("a", "b", 5, 1, 4), RatingConfig()), fit(games("a", "b", 7, 3), RatingConfig())
    assert halves.entries[0].elo == pytest.approx(wins.entries[0].elo)
    assert (halves.entries[0].wins, halves.entries[0].draws, halves.entries[0].losses) == (5, 4, 1)


def test_the_prior_keeps_a_perfect_score_finite() -> None:
    first, second = fit(games("a", "b", 20), RatingConfig()).entries
    assert 1500 < first.elo < 2500
    assert first.elo - 1500 == pytest.approx(1500 - second.elo)


def test_without_a_prior_a_perfect_score_has_no_rating() -> None:
    with pytest.raises(NoRating):
        fit(games("a", "b", 20), MAXIMUM_LIKELIHOOD)


def test_a_player_without_games_has_the_prior() -> None:
    (entry,) = fit([], RatingConfig(), ["new"]).entries
    assert (entry.elo, entry.games) == (1500, 0)
    assert entry.se == pytest.approx(350)
    assert entry.high - entry.low == pytest.approx(2 * 1.96 * 350, rel=1e-3)


def test_an_empty_log_has_an_empty_table() -> None:
    assert fit([], RatingConfig()).entries == ()


def test_more_games_narrow_the_interval() -> None:
    widths = []
    for count in (10, 40, 160):
        entry = fit(games("a", "b", count, count), MAXIMUM_LIKELIHOOD).entries[0]
        widths.append(entry.high - entry.low)
    assert widths[0] == pytest.approx(2 * widths[1], rel=1e-6)
    assert widths[1] == pytest.approx(2 * widths[2], rel=1e-6)


def test_a_newcomer_widens_nobody_elses_interval() -> None:
    log = games("a", "b", 30, 20) + games("b", "c", 30, 20) + games("a", "c", 25, 15)
    before = {entry.player: entry.se for entry in fit(log, RatingConfig()).entries}
    after = {entry.player: entry.se for entry in fit(log, RatingConfig(), ["new"]).entries}
    assert after.pop("new") > 300
    assert after == pytest.approx(before)
    assert max(before.values()) < 40  # and not the 350 / sqrt(3) by which the whole field might be off


def test_a_table_of_three_counts_as_its_pairs() -> None:
    table = [Game(("a", "b", "c"), (1, 2, 2))] * 5 + [Game(("a", "b", "c"), (3, 1, 2))] * 3
    pairs = [
        *games("a", "b", 5, 3),
        *games("a", "c", 5, 3),
        *games("b", "c", 3, 0, 5),
    ]
    together = {entry.player: entry.elo for entry in fit(table, RatingConfig()).entries}
    apart = {entry.player: entry.elo for entry in fit(pairs, RatingConfig()).entries}
    assert together == pytest.approx(apart)


LOGS = st.lists(
    st.tuples(st.permutations("abcde").map(lambda order: tuple(order[:2])), st.sampled_from([(1, 2), (2, 1), (1, 1)])),
    min_size=1,
    max_size=40,
).map(lambda rows: [Game(players, ranks) for players, ranks in rows])


@given(LOGS, st.randoms(use_true_random=False))
def test_the_order_of_the_log_changes_nothing(log: list[Game], chance: random.Random) -> None:
    shuffled = [
        Game(game.players[::-1], game.ranks[::-1]) if chance.random() < 0.5 else game
        for game in chance.sample(log, len(log))
    ]
    assert fit(shuffled, RatingConfig()) == fit(log, RatingConfig())


@given(LOGS)
def test_the_fingerprint_tells_logs_apart(log: list[Game]) -> None:
    assert log_sha256(log) != log_sha256([*log, log[0]])
    assert log_sha256(log) != log_sha256(log[1:])


@given(LOGS)
def test_ratings_sum_to_the_centre_and_their_errors_are_finite(log: list[Game]) -> None:
    entries = fit(log, RatingConfig()).entries
    assert sum(entry.elo for entry in entries) == pytest.approx(1500 * len(entries))
    assert all(0 < entry.se < 600 and math.isfinite(entry.se) for entry in entries)
    assert [entry.elo for entry in entries] == sorted((entry.elo for entry in entries), reverse=True)
