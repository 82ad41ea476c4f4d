"""A ladder whose order is settled plays rarely, and goes on when something changes."""

from typing import Any

import pytest
from sqlmodel import select

from deadheat.league.config import MOST_UNSETTLING, SETTLED_SECONDS
from deadheat.league.pairing.finals import SETTLED, is_settled
from deadheat.league.service.course.schedule import has_unplayed
from deadheat.league.service.rankings import standings
from deadheat.league.service.views.forecasts import season_forecast, waiting
from deadheat.league.tables import Season, Series
from tests.league.outcomes import lower_wins
from tests.league.world import World


def row(version: int, elo: float, gap_se: float | None = 10.0, **given: Any) -> dict[str, Any]:
    return {"version_id": version, "elo": elo, "se": 8.0, "games": 200, "gap_se": gap_se, "part": 1, **given}


DIVISION = {1: 1, 2: 1, 3: 1}


@pytest.mark.parametrize(
    ("rows", "settled"),
    [
        ([row(1, 1600), row(2, 1550), row(3, 1500, None)], True),
        ([row(1, 1600), row(2, 1600 - SETTLED * 10), row(3, 1500, None)], True),
        ([row(1, 1600), row(2, 1601 - SETTLED * 10), row(3, 1500, None)], False),
        ([row(1, 1600), row(2, 1550), row(3, 1500, None, se=100, games=20)], False),
        ([row(1, 1600), row(2, 1550), row(3, 1500, None, part=2)], False),
        ([row(1, 1600), row(2, 1550)], False),
        ([row(1, 1600), row(9, 1599, 1.0), row(2, 1560), row(3, 1500, None)], True),
        ([row(1, 1600), row(9, 1599, 1.0), row(2, 1570), row(3, 1500, None)], False),
    ],
    ids=["apart", "just", "close", "new", "not linked", "unranked", "one between has left", "that alone hides nothing"],
)
def test_an_order_is_settled_when_everybody_is_placed_and_all_neighbours_are_far_apart(
    rows: list[dict[str, Any]], settled: bool
) -> None:
    assert is_settled(rows, DIVISION) is settled


def test_divisions_are_looked_at_one_by_one_and_one_bot_alone_is_not_settled() -> None:
    rows = [row(1, 1600), row(2, 1500, None), row(3, 1590), row(4, 1400, None)]
    assert is_settled(rows, {1: 1, 2: 1, 3: 2, 4: 2})
    assert not is_settled(rows, {1: 1, 2: 1, 3: 2})
    assert not is_settled([], {})


def settle(world: World) -> None:
    while made := world.tick():
        world.play(made, lower_wins)
        world.settle_rankings()


@pytest.mark.databases
def test_two_bots_that_are_told_apart_stop_and_a_newcomer_starts_them_again(world: World) -> None:
    season_id = world.season(2, games_per_pair=None, series_length=10)
    settle(world)
    played = len(world.rows(select(Series.id)))
    assert world.read(standings.order_is_settled, season_id)
    assert world.row(Season, season_id).settled_until is not None
    with world.db.reading() as session:
        assert not has_unplayed(session, session.get_one(Season, season_id)), "no slot is idle in vain"
    world.clock.turn(SETTLED_SECONDS + 1)
    world.play(world.tick(), lower_wins)
    world.settle_rankings()
    assert len(world.rows(select(Series.id))) == played + 1, "its rest ends now and then"
    assert world.tick() == []
    world.entrant(season_id)
    world.settle_rankings()
    assert world.row(Season, season_id).settled_until is None
    assert world.tick()


@pytest.mark.databases
def test_one_authors_uploads_end_the_rest_three_times_a_day_and_then_wait_for_its_series(world: World) -> None:
    season_id = world.season(1, games_per_pair=1000, series_length=10)
    owner, bot = world.entrant(season_id)
    settle(world)
    woken = []
    for _ in range(MOST_UNSETTLING + 1):  # the first version was an upload, too
        world.version(owner, bot)
        world.settle_rankings()
        woken.append(world.row(Season, season_id).settled_until is None)
        settle(world)
    assert woken == [True] * (MOST_UNSETTLING - 1) + [False] * 2
    said = world.read(waiting, season_id, bot).sentence
    assert "the order is settled" in said
    with world.db.reading() as session:
        assert not has_unplayed(session, session.get_one(Season, season_id))
    assert world.read(season_forecast, world.boss, season_id).ladder_matches is None, (
        "nobody knows when they are played"
    )
    world.clock.turn(SETTLED_SECONDS + 1)
    assert len(world.tick()) == 1, "the newest version plays when the rest ends by itself"
    world.clock.turn(86_400)
    world.version(owner, bot)
    world.settle_rankings()
    assert world.row(Season, season_id).settled_until is None, "the next day it may end it again"
