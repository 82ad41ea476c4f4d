"""The overview shows leaders, trends and matches worth watching."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from sqlalchemy import select as columns
from sqlmodel import Session, col, update

from deadheat.api.pages.bot import near
from deadheat.api.pages.pictures.charts import trend
from deadheat.api.pages.render import to_come
from deadheat.api.pages.statistics import cycles
from deadheat.league.service.ground.steps import insert_rows
from deadheat.league.service.rankings import history, standings
from deadheat.league.service.seasons.seasons import COUNTED, season_info, season_waiting
from deadheat.league.service.views.overview import Candidate, leaders, worth_watching
from deadheat.league.tables import Match, RatingPoint
from deadheat.league.time_buckets import bucket, late_share
from tests.league.world import World


def test_the_leader_is_first_in_the_newest_ranking(world: World) -> None:
    season, empty = world.ranked(3), world.season(0)
    first = world.ranking(season)[0]
    found = world.read(leaders, [season, empty])
    assert {number: leader.bot_id for number, leader in found.items()} == {season: first["bot_id"]}
    assert [world.read(season_info, number).entries for number in (season, empty)] == [3, 0]


def test_a_first_place_may_be_shared(world: World) -> None:
    season = world.ranked(3)
    first = world.read(leaders, [season])[season]
    world.write(lambda session: session.exec(update(RatingPoint).where(col(RatingPoint.rank) > 1).values(rank=1)))
    assert world.read(leaders, [season])[season] == replace(first, others=2)


def test_a_trend_has_few_points_however_long_the_history(world: World) -> None:
    season = world.season(2, series_length=2, games_per_pair=40)
    for _ in range(2 * history.TREND_POINTS):
        for series_id in world.tick()[:1]:
            assert world.finish(world.claimed(series_id))
        world.clock.turn(60)
        world.write(standings.refit, season)
    found = world.read(history.trends, season, [1])
    rows = {row["bot_id"]: row["elo"] for row in world.ranking(season)}
    assert set(found) == {1}
    assert 1 < len(found[1]) <= history.TREND_POINTS
    assert found[1][-1] == rows[1]


def test_no_trend_is_drawn_of_one_point() -> None:
    assert trend([1500.0]) is None
    way = trend([1500.0, 1530.0])
    assert way is not None and way.change == 30


def test_the_best_players_with_the_closest_result_are_worth_watching(world: World) -> None:
    world.ranked(3)
    assert len(world.read(worth_watching)) > 0
    close, clear = Candidate(1, ["100", "99"], [1, 2]), Candidate(2, ["100", "9"], [1, 2])
    assert close.worth > clear.worth > Candidate(3, ["100", "9"], [9, 8]).worth
    assert Candidate(4, ["100", None], [1, 2]).worth < 0 <= Candidate(5, [str(Fraction(1, 2)), "0"], [None, None]).worth


def test_of_very_many_matches_to_come_only_some_are_counted(world: World) -> None:
    season = world.season(2, series_length=2, games_per_pair=2)
    world.tick()
    assert world.read(season_waiting, season) == (2, 0)

    def plan(session: Session) -> None:
        match = dict(session.connection().execute(columns(*Match.__table__.c)).mappings().first() or {})  # type: ignore[attr-defined]
        insert_rows(session, Match, [{**match, "id": 100 + n, "number": 100 + n} for n in range(COUNTED)])

    world.write(plan)
    assert world.read(season_waiting, season) == (COUNTED + 1, 0)
    assert [to_come(matches) for matches in (0, COUNTED, COUNTED + 1)] == ["0", "10000", "10,000+"]


@pytest.mark.parametrize(("part", "late"), [(1.0, 0.0), (0.5, 0.5), (0.25, 1.0)])
def test_what_would_be_late_follows_from_the_buckets(part: float, late: float) -> None:
    counts = {bucket(300, 1000): 5, bucket(900, 1000): 5}
    assert late_share(counts, part) == late


def test_neighbours_are_within_reach_where_the_intervals_of_places_overlap() -> None:
    rows = [
        {"bot_id": bot, "division": 1, "rank": bot, "rank_low": best, "rank_high": worst}
        | {"elo": 1500.0, "low": 1400.0, "high": 1600.0}  # wide, but places decide
        for bot, best, worst in ((1, 1, 1), (2, 2, 3), (3, 2, 3), (4, 4, 4))
    ]
    assert [row["bot_id"] for row, _ in near(rows[2], rows[1::-1], rows[3:])] == [2, 3]
    assert near(rows[0], [], rows[1:]) == []
    assert near(None, [], []) == []


def test_a_cycle_is_three_bots_that_beat_each_other() -> None:
    rows = [{"bot": name, "bot_id": 1} for name in "abc"]
    games = [[0, 4, 4], [4, 0, 4], [4, 4, 0]]
    points = [[0, 3, 1], [1, 0, 3], [3, 1, 0]]
    [beats] = cycles({"rows": rows, "pairs": {"version_ids": [1, 2, 3], "points": points, "games": games}})
    assert [(beat.winner["bot"], beat.loser["bot"]) for beat in beats] == [("a", "b"), ("b", "c"), ("c", "a")]
    straight = [[0, 3, 3], [1, 0, 3], [1, 1, 0]]
    assert cycles({"rows": rows, "pairs": {"version_ids": [1, 2, 3], "points": straight, "games": games}}) == []
