"""Rankings: from the log, whole, and only when it changed."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import select

from league import errors, service
from league.jobs import MatchJob, MatchOutcome
from league.ratings import RatingConfig
from league.states import SeriesState
from league.tables import Series
from tests.league.world import World, abandoned, forfeited, won


def refit(world: World, season_id: int) -> bool:
    with world.db.transaction() as session:
        return service.refit(session, season_id)


def due(world: World) -> list[int]:
    with world.db.transaction() as session:
        return service.seasons_to_refit(session)


def standings(world: World, season_id: int) -> dict[str, Any]:
    with world.db.reading() as session:
        return service.leaderboard(session, season_id).standings


def rows(world: World, season_id: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = standings(world, season_id)["rows"]
    return found


def play(world: World, *outcomes: object) -> None:
    """Play one series of as many matches, each ending as told."""
    world.tick()
    with world.db.reading() as session:
        series_id = session.exec(select(Series.id).where(Series.state == SeriesState.QUEUED).limit(1)).one()
    job = world.claim(series_id)
    assert job is not None
    made = [ending(match, outcome) for match, outcome in zip(job.matches, outcomes, strict=True)]
    assert world.finish(job, made)


def ending(match: MatchJob, outcome: object) -> MatchOutcome:
    if outcome == "abandoned":
        return abandoned(match)
    if isinstance(outcome, tuple):
        return forfeited(match, *(match.seats.index(version) for version in outcome))
    assert isinstance(outcome, int)
    return won(match, match.seats.index(outcome))


def test_the_winner_is_first(world: World) -> None:
    season_id = world.season(2, series_length=4, games_per_pair=4)
    play(world, 2, 2, 2, 1)
    assert refit(world, season_id)
    first, second = rows(world, season_id)
    assert (first["version_id"], first["rank"], first["wins"], first["losses"], first["games"]) == (2, 1, 3, 1, 4)
    assert (second["version_id"], second["rank"]) == (1, 2)
    assert first["low"] < first["elo"] < first["high"]
    assert first["elo"] + second["elo"] == pytest.approx(2 * RatingConfig().centre_elo)


def test_a_ranking_is_stored_once_for_each_log(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=4)
    play(world, 1, 2)
    assert due(world) == [season_id]
    assert refit(world, season_id)
    assert due(world) == []
    assert not refit(world, season_id)
    play(world, 1, 1)
    assert due(world) == []  # not so soon
    world.clock.turn(world.settings.refit_seconds)
    assert due(world) == [season_id]
    assert refit(world, season_id)
    with world.db.reading() as session:
        board = service.leaderboard(session, season_id)
    assert board.snapshot_id == 2
    assert board.log_sha256 is not None
    assert board.config == RatingConfig().as_json()


def test_matches_that_both_spoiled_or_nobody_played_are_not_rated(world: World) -> None:
    season_id = world.season(2, series_length=4, games_per_pair=4)
    play(world, 1, (1, 2), "abandoned", (2,))
    assert refit(world, season_id)
    found = {row["version_id"]: row for row in rows(world, season_id)}
    assert found[1]["games"] == 2
    assert (found[1]["wins"], found[1]["timeouts"]) == (2, 1)
    assert (found[2]["losses"], found[2]["timeouts"]) == (2, 2)
    assert standings(world, season_id)["totals"] == {
        "rated": 2,
        "matches": 3,
        "abandoned": 1,
        "voids": 5,
        "timeouts": 3,
        "other_faults": 0,
    }


def test_a_bot_is_listed_as_soon_as_it_enters(world: World) -> None:
    season_id = world.season(1)
    assert due(world) == [season_id]
    assert refit(world, season_id)
    (row,) = rows(world, season_id)
    assert (row["elo"], row["games"], row["rank"]) == (1500, 0, 1)


def test_an_earlier_version_keeps_its_games_and_has_no_place(world: World) -> None:
    season_id = world.season(1, series_length=2, games_per_pair=2)
    owner, bot_id = world.bot()
    with world.db.transaction() as session:
        service.enter(session, owner, season_id, bot_id)
    play(world, 2, 2)
    world.build(world.upload(owner, bot_id))
    assert refit(world, season_id)
    found = {row["version_id"]: row for row in rows(world, season_id)}
    assert [found[number]["rank"] for number in (1, 2, 3)] == [2, None, 1]
    assert (found[2]["games"], found[3]["games"]) == (2, 0)


def test_an_unknown_season_has_no_leaderboard(world: World) -> None:
    with pytest.raises(errors.NotFound), world.db.reading() as session:
        service.leaderboard(session, 99)
    with pytest.raises(errors.NotFound), world.db.reading() as session:
        service.newest_snapshot(session, 99)


def test_a_season_without_a_ranking_has_an_empty_leaderboard(world: World) -> None:
    season_id = world.season(0)
    assert standings(world, season_id) == {"rows": [], "totals": {}}
