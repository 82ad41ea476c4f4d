"""Rankings are thinned as a season ages, and response times add up as matches end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlmodel import col, select

from deadheat.league.jobs import Latency
from deadheat.league.service.rankings import history, standings
from deadheat.league.service.series.response_times import command_times, latency_by_version
from deadheat.league.tables import RatingPoint, RatingSnapshot
from deadheat.league.time_buckets import DOUBLINGS, LAST, PER_DOUBLING, bars, bucket, edge, percentile
from tests.league.outcomes import won
from tests.league.world import World

MS = 1_000_000


def rank_again(world: World, season_id: int, seconds: float) -> None:
    """Play one more series, and rank the season `seconds` later."""
    assert world.finish(world.claimed(world.tick()[0]))
    world.clock.turn(seconds)
    assert world.write(standings.refit, season_id)


def test_each_ranking_is_a_point_of_each_bots_history(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    for _ in range(3):
        rank_again(world, season_id, 5)
    with world.db.reading() as session:
        bot_id = session.exec(select(RatingPoint.bot_id)).first()
        assert bot_id is not None
        points = history.history(session, season_id, bot_id)
        newest = session.exec(select(RatingSnapshot).order_by(col(RatingSnapshot.id).desc())).first()
    assert newest is not None
    [row] = [row for row in newest.standings["rows"] if row["bot_id"] == bot_id]
    assert [(point.at - points[0].at).total_seconds() for point in points] == [0, 5, 10]
    last = points[-1]
    shown = ("elo", "low", "high", "rank", "version")
    assert [getattr(last, name) for name in shown] == [row[name] for name in shown]


def test_two_rankings_of_one_second_are_one_point(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    for _ in range(2):
        rank_again(world, season_id, 0)
    assert len(set(world.rows(select(RatingPoint.second)))) == 1


@pytest.mark.all
def test_histories_stay_bounded_and_keep_the_last_of_each_span(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    pauses = [1] * 10 + [3] * 80 + [50] * 60
    for pause in pauses:
        rank_again(world, season_id, pause)
    bots = len(set(world.rows(select(RatingPoint.bot_id))))
    seconds = sorted(set(world.rows(select(RatingPoint.second))))
    assert len(world.rows(select(RatingPoint.second))) == bots * len(seconds), "whole rankings, not parts"
    assert len(seconds) <= 1 + history.MOST_POINTS
    assert len(seconds) >= history.MOST_POINTS // 4
    width = history.span(seconds[-1])
    assert seconds[0] == 1, "the season's first"
    assert len({second // width for second in seconds[1:]}) == len(seconds) - 1, "and one of each span"
    assert seconds[-1] == sum(pauses)


@pytest.mark.parametrize("second", [0, 1, 127, 128, 1000, 86_400, 40_000_000])
def test_a_seasons_age_has_few_spans(second: int) -> None:
    assert second // history.span(second) < history.MOST_POINTS


def test_shares_of_the_limit_are_read_from_buckets_within_nine_per_cent() -> None:
    for share in (0.002, 0.03, 0.25, 0.62, 0.99, 1.0):
        assert share * 0.999999 <= edge(bucket(round(share * 500 * MS), 500 * MS)) <= share * 1.0906
    assert (bucket(0, 500), bucket(10**12, 500)) == (0, LAST)
    assert bucket(500, 500) == DOUBLINGS * PER_DOUBLING, "in time is not above the limit"


def test_percentiles_and_bars_of_counts() -> None:
    half, all_of_it = bucket(1, 2), bucket(1, 1)
    counts = {half: 98, all_of_it: 2}
    assert (percentile(counts, 0.5), percentile(counts, 0.99)) == (0.5, 1.0)
    assert percentile({}, 0.99) is None
    assert bars(counts) == [0] * (DOUBLINGS - 1) + [9, 1, 0]


def test_response_times_add_up_over_series(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    versions: set[int] = set()
    for used in (10 * MS, 310 * MS):
        job = world.claimed(world.tick()[0])
        versions |= set(job.programs)
        counts = {bucket(used, 500 * MS): 12}
        timed = (Latency(0, "ROLL", 500 * MS, 12, 12 * used, used, counts),)
        assert world.finish(job, [replace(won(match), latencies=timed) for match in job.matches])
    [both] = world.read(command_times, season_id, versions)
    shown = world.read(latency_by_version, season_id)
    assert (both.command, both.prompts, both.worst_ns, both.mean_ns) == ("ROLL", 48, 310 * MS, 160 * MS)
    assert both.p50 == pytest.approx(0.02, rel=0.1)
    assert both.p99 == pytest.approx(0.62, rel=0.1)
    assert {int(version_id) for version_id in shown} <= versions
