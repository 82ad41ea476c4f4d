"""Ratings have known answers, priors and chains of versions, and depend on the log's content alone."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.ratings import ELO_PER_NAT, NoRating, Prior, RatingConfig, RatingTable, carried, rate
from deadheat.league.ratings.linear import _threads, one_thread
from deadheat.league.states import Ranks
from tests.lanes import examples
from tests.league.logs import Line, duels, log
from tests.league.refusals import refused

pytestmark = pytest.mark.quick

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


def baseball() -> list[Line]:
    return [
        game
        for row, one in enumerate(TEAMS)
        for column, other in enumerate(TEAMS)
        for game in duels(one, other, WINS[row][column])
    ]


def elo(table: RatingTable) -> dict[str, float]:
    return {entry.player: entry.elo for entry in table.entries}


def se(table: RatingTable) -> dict[str, float]:
    return {entry.player: entry.se for entry in table.entries}


def test_the_american_league_of_1987_has_its_published_strengths() -> None:
    nats = {team: found / ELO_PER_NAT for team, found in elo(rate(log(baseball()), MAXIMUM_LIKELIHOOD)).items()}
    for team, strength in zip(TEAMS, STRENGTHS, strict=True):
        assert nats[team] - nats["Baltimore"] == pytest.approx(strength, abs=5e-5)


def test_seven_of_ten_are_147_elo() -> None:
    first, second = rate(log(duels("a", "b", 7, 3)), MAXIMUM_LIKELIHOOD).entries
    assert first.elo - second.elo == pytest.approx(147.19, abs=0.005)
    assert first.place is not None
    assert (first.place.gap_elo, first.place.gap_se) == pytest.approx((147.19, 119.88), abs=0.005)
    assert (first.se, second.se) == pytest.approx((119.88 / 2,) * 2, abs=0.005)  # each one's distance to the middle


def test_the_centre_is_the_mean_of_the_field_without_a_prior() -> None:
    found = elo(rate(log(baseball()), RatingConfig(centre_elo=1200, prior_sd_elo=None)))
    assert sum(found.values()) / len(found) == pytest.approx(1200)


def test_a_draw_is_half_a_win() -> None:
    drawn = rate(log(duels("a", "b", 0, 0, 10)), RatingConfig()).entries
    assert [entry.elo for entry in drawn] == pytest.approx([1500, 1500])
    halves = rate(log(duels("a", "b", 5, 1, 4)), RatingConfig())
    assert elo(halves) == pytest.approx(elo(rate(log(duels("a", "b", 7, 3)), RatingConfig())))
    assert (halves.entries[0].wins, halves.entries[0].draws, halves.entries[0].losses) == (5, 4, 1)


@pytest.mark.parametrize(
    "lines",
    [
        duels("a", "b", 20),
        [*duels("a", "b", 3, 3), *duels("c", "d", 3, 3)],
        [*duels("a", "b", 3, 3), *duels("b", "c", 5, 0), *duels("c", "d", 3, 3)],
    ],
)
def test_without_a_prior_a_log_that_determines_nothing_has_no_ratings(lines: list[Line]) -> None:
    refused(NoRating, rate, log(lines), MAXIMUM_LIKELIHOOD)


def test_a_player_without_games_has_the_prior() -> None:
    assert rate(log([]), RatingConfig()).entries == ()
    (entry,) = rate(log([]), RatingConfig(), {"new": Prior()}).entries
    assert (entry.elo, entry.games) == (1500, 0)
    assert entry.se == pytest.approx(350)
    assert entry.high - entry.low == pytest.approx(2 * 1.96 * 350, rel=1e-3)


def test_a_newcomer_widens_nobody_elses_interval() -> None:
    lines = [*duels("a", "b", 30, 20), *duels("b", "c", 30, 20), *duels("a", "c", 25, 15)]
    before = se(rate(log(lines), RatingConfig()))
    after = se(rate(log(lines), RatingConfig(), {"new": Prior()}))
    assert after.pop("new") == pytest.approx(350)
    assert after == pytest.approx(before)
    assert max(before.values()) < 40  # not 350 / sqrt(3), the error of the whole field


def test_fields_that_never_met_are_each_their_own_measure() -> None:
    one, other = duels("a", "b", 60, 40), duels("c", "d", 20, 15)
    together = se(rate(log([*one, *other]), RatingConfig()))
    assert together == pytest.approx(se(rate(log(one), RatingConfig())) | se(rate(log(other), RatingConfig())))


def test_a_rating_of_an_earlier_season_is_where_a_player_starts() -> None:
    (entry,) = rate(log([]), RatingConfig(), {"old": Prior(mean_elo=1710, sd_elo=60)}).entries
    assert (entry.elo, entry.se) == pytest.approx((1710, 60))


def test_a_rating_is_carried_over_with_an_error_that_has_grown() -> None:
    config = RatingConfig(prior_sd_elo=350, version_sd_elo=90, season_sd_elo=120)
    assert carried(1710, 50, config) == Prior(mean_elo=1710, sd_elo=130)
    assert carried(1710, 80, config, 90) == Prior(mean_elo=1710, sd_elo=170)
    assert carried(1500, 350, config, 90) == Prior(mean_elo=1500, sd_elo=350)  # no more than a new bot's


def test_a_version_without_games_is_where_its_parent_is_and_less_sure() -> None:
    lines = [*duels("a1", "b", 30, 10), *duels("b", "c", 20, 20), *duels("a1", "c", 28, 12)]
    table = rate(log(lines), RatingConfig(version_sd_elo=80), {"a2": Prior(parent="a1")})
    assert elo(table)["a2"] == pytest.approx(elo(table)["a1"])
    around = se(table)
    assert around["a2"] == pytest.approx(math.hypot(around["a1"], 80), rel=0.02)


def test_a_version_that_is_known_to_have_moved_follows_its_own_games_sooner() -> None:
    lines = [*duels("a1", "b", 5, 60), *duels("a2", "b", 8)]
    priors = {"a2": Prior(parent="a1")}
    near = elo(rate(log(lines), RatingConfig(), priors))
    wide = elo(rate(log(lines), RatingConfig(), {"a2": Prior(parent="a1", sd_elo=RatingConfig().passed_sd_elo)}))
    assert wide["a2"] - wide["b"] > 0 > near["a2"] - near["b"]


def test_games_of_a_version_tell_about_the_one_before_it() -> None:
    lines = [*duels("a1", "b", 10, 10), *duels("a2", "b", 40, 0)]
    chained = elo(rate(log(lines), RatingConfig(), {"a2": Prior(parent="a1")}))
    apart = elo(rate(log(lines), RatingConfig()))
    assert chained["a1"] > apart["a1"]
    assert chained["a2"] - chained["a1"] < apart["a2"] - apart["a1"]


def test_a_tight_chain_is_one_player_and_a_loose_one_is_two() -> None:
    lines = [*duels("a1", "b", 30, 10), *duels("a2", "b", 10, 20), *duels("b", "c", 20, 10)]
    pooled = elo(rate(log([*duels("a", "b", 40, 30), *duels("b", "c", 20, 10)]), RatingConfig()))
    tight = elo(rate(log(lines), RatingConfig(version_sd_elo=0.5), {"a2": Prior(parent="a1")}))
    assert tight["a1"] == pytest.approx(tight["a2"], abs=0.1)
    assert tight["a1"] - tight["b"] == pytest.approx(pooled["a"] - pooled["b"], abs=0.1)
    loose = elo(rate(log(lines), RatingConfig(version_sd_elo=1e5), {"a2": Prior(parent="a1")}))
    assert loose["a1"] > loose["b"] > loose["a2"]


def test_a_chain_determines_what_games_do_not_even_without_a_prior() -> None:
    lines = duels("a1", "b", 6, 4)
    found = elo(rate(log(lines), MAXIMUM_LIKELIHOOD, {"a2": Prior(parent="a1"), "a3": Prior(parent="a2")}))
    assert found["a3"] == pytest.approx(found["a1"])


def test_a_table_of_three_counts_as_its_pairs() -> None:
    table: list[Line] = [(("a", "b", "c"), (1, 2, 2))] * 5 + [(("a", "b", "c"), (3, 1, 2))] * 3
    pairs = [*duels("a", "b", 5, 3), *duels("a", "c", 5, 3), *duels("b", "c", 3, 0, 5)]
    assert elo(rate(log(table), RatingConfig())) == pytest.approx(elo(rate(log(pairs), RatingConfig())))


def test_by_wins_only_the_first_place_counts() -> None:
    table: list[Line] = [(("a", "b", "c"), (1, 2, 3))] * 5 + [(("a", "b", "c"), (3, 1, 2))] * 3
    pairs = [*duels("a", "b", 5, 3), *duels("a", "c", 5), *duels("b", "c", 3)]
    by_wins = RatingConfig(ranks=Ranks.WINS)
    found = rate(log(table), by_wins)
    assert elo(found) == pytest.approx(elo(rate(log(pairs), RatingConfig())))
    rows = {entry.player: (entry.games, entry.wins, entry.draws, entry.losses) for entry in found.entries}
    assert rows == {"a": (8, 5, 0, 3), "b": (8, 3, 0, 5), "c": (8, 0, 0, 8)}


def test_a_shared_first_place_is_a_draw_among_those_who_share_it() -> None:
    table: list[Line] = [(("a", "b", "c"), (1, 1, 3))] * 4
    pairs = [*duels("a", "b", 0, 0, 4), *duels("a", "c", 4), *duels("b", "c", 4)]
    found = rate(log(table), RatingConfig(ranks=Ranks.WINS))
    assert elo(found) == pytest.approx(elo(rate(log(pairs), RatingConfig())))
    rows = {entry.player: (entry.wins, entry.draws, entry.losses) for entry in found.entries}
    assert rows == {"a": (0, 4, 0), "b": (0, 4, 0), "c": (0, 0, 4)}


GAMES = st.tuples(
    st.permutations("abcdef"),
    st.lists(st.integers(1, 3), min_size=2, max_size=4),
    st.sampled_from([None, None, "x", "y"]),
).map(lambda drawn: (tuple(drawn[0][: len(drawn[1])]), tuple(drawn[1]), drawn[2]))
LOGS = st.lists(GAMES, min_size=1, max_size=40)


@examples(40)
@given(LOGS, st.sampled_from(Ranks), st.randoms(use_true_random=False))
def test_the_order_of_the_log_changes_nothing(lines: list[Line], ranks: Ranks, chance: random.Random) -> None:
    config = RatingConfig(ranks=ranks)
    there, back = rate(log(lines), config), rate(log(chance.sample(lines, len(lines))), config)
    assert there.entries == back.entries  # to the last bit
    assert (there.log.sha256, there.fit(), there.seats()) == (back.log.sha256, back.fit(), back.seats())


@given(LOGS)
def test_ratings_sum_to_the_centre_and_their_errors_are_finite(lines: list[Line]) -> None:
    entries = rate(log(lines), RatingConfig()).entries
    assert sum(entry.elo for entry in entries) == pytest.approx(1500 * len(entries))
    assert all(0 < entry.se < 600 for entry in entries)
    shown = [entry.elo for entry in entries]
    assert shown == pytest.approx(sorted(shown, reverse=True), abs=1e-6)


@examples(40)
@given(LOGS, st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 3000)))
def test_where_the_search_starts_changes_nothing_that_is_shown(lines: list[Line], start: dict[str, float]) -> None:
    cold, warm = rate(log(lines), RatingConfig()), rate(log(lines), RatingConfig(), start=start)
    assert elo(warm) == pytest.approx(elo(cold), abs=1e-9)
    assert se(warm) == pytest.approx(se(cold), abs=1e-9)
    for one, other in zip(cold.entries, warm.entries, strict=True):
        assert one.place is not None and other.place is not None
        assert (one.player, one.place.rank, one.place.low, one.place.high) == (
            (other.player, other.place.rank, other.place.low, other.place.high)
        )


def test_a_configuration_comes_back_from_json() -> None:
    for config in (RatingConfig(), RatingConfig(1000, None, 60, 150, 50, Ranks.WINS)):
        assert RatingConfig.of_json(config.as_json()) == config
    for stored in ({}, RatingConfig().as_json() | {"version": 1}, RatingConfig().as_json() | {"decay": 0.9}):
        assert "another version" in refused(ValueError, RatingConfig.of_json, stored)


def test_ratings_use_one_thread() -> None:
    """With two threads, a table of 200 players costs about ten times as much CPU time."""
    threads = _threads()
    assert threads is not None
    ask, choose = threads
    before = ask()
    choose(2)
    try:
        with one_thread():
            assert ask() == 1
        assert ask() == 2
    finally:
        choose(before)


def test_more_games_narrow_the_interval() -> None:
    widths = []
    for count in (10, 40, 160):
        entry = rate(log(duels("a", "b", count, count)), MAXIMUM_LIKELIHOOD).entries[0]
        widths.append(entry.high - entry.low)
    assert widths[0] == pytest.approx(2 * widths[1], rel=1e-6)
    assert widths[1] == pytest.approx(2 * widths[2], rel=1e-6)


def test_with_two_seats_placement_and_wins_are_the_same() -> None:
    lines = [*duels("a", "b", 5, 3, 2), *duels("b", "c", 4, 4)]
    placement, wins = rate(log(lines), RatingConfig()), rate(log(lines), RatingConfig(ranks=Ranks.WINS))
    assert placement.entries == wins.entries


@examples(40)
@given(LOGS, st.permutations("abcdef"))
def test_names_change_nothing_but_the_names(lines: list[Line], other: list[str]) -> None:
    renamed: list[Line] = [
        (tuple(other["abcdef".index(player)] for player in players), ranks, *rest) for players, ranks, *rest in lines
    ]
    there = elo(rate(log(lines), RatingConfig()))
    back = elo(rate(log(renamed), RatingConfig()))
    assert {other["abcdef".index(player)]: found for player, found in there.items()} == pytest.approx(back, abs=1e-9)


def test_the_prior_keeps_a_perfect_score_finite() -> None:
    first, second = rate(log(duels("a", "b", 20)), RatingConfig()).entries
    assert 1500 < first.elo < 2500
    assert first.elo - 1500 == pytest.approx(1500 - second.elo)


def test_one_game_moves_a_known_player_less_than_an_unknown_one() -> None:
    priors = {"known": Prior(mean_elo=1500, sd_elo=50), "new": Prior()}
    found = elo(rate(log(duels("new", "known", 1)), RatingConfig(), priors))
    assert found["new"] - 1500 > 10 * (1500 - found["known"]) > 0


@examples(40)
@given(LOGS)
def test_voiding_a_game_and_restoring_it_is_the_identity(lines: list[Line]) -> None:
    before = rate(log(lines), RatingConfig())
    rate(log(lines[1:]), RatingConfig())
    after = rate(log([*lines[1:], lines[0]]), RatingConfig())
    assert (before.entries, before.log.sha256) == (after.entries, after.log.sha256)
