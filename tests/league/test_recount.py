"""A stored ranking is recomputed from the log, and every difference is reported."""

import copy
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.league import errors
from deadheat.league.ratings import RatingConfig
from deadheat.league.service.rankings import standings as league_recount
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons.seasons import edit_season
from deadheat.league.states import FinalsLog
from deadheat.league.tables import Match, Participant, RatingSnapshot
from deadheat.league.verification import comparison, fairness
from tests.league.test_standings import play
from tests.league.world import World


@pytest.fixture
def season_id(world: World) -> int:
    return world.ranked(3, series_length=4, games_per_pair=4)


def recount(world: World, season_id: int) -> comparison.Recount:
    return world.read(league_recount.recount, season_id)


def tamper(world: World, **changed: Any) -> None:
    """Change the stored ranking behind the league's back."""
    with world.db.transaction() as session:
        snapshot = session.exec(select(RatingSnapshot)).one()
        for name, value in changed.items():
            setattr(snapshot, name, value)


def stored(world: World) -> dict[str, Any]:
    standings: Any = world.one(select(RatingSnapshot.standings))
    return dict(copy.deepcopy(standings))


def test_a_rating_that_was_changed_is_found(world: World, season_id: int) -> None:
    standings = stored(world)
    standings["rows"][0]["elo"] += 0.01
    tamper(world, standings=standings)
    (difference,) = recount(world, season_id).differences
    version = standings["rows"][0]["version_id"]
    assert difference.startswith(f"rows.version {version}.elo is stored as {standings['rows'][0]['elo']}")


def test_a_row_that_was_removed_is_one_difference(world: World, season_id: int) -> None:
    standings = stored(world)
    gone = standings["rows"].pop(0)
    tamper(world, standings=standings)
    (difference,) = recount(world, season_id).differences
    assert difference == f"rows.version {gone['version_id']} is stored as nothing, but the log gives something."


def test_a_log_that_has_grown_is_a_difference_that_is_expected(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=4)
    play(world, 1, 2)
    assert world.write(refit, season_id)
    play(world, 1, 1)
    found = recount(world, season_id)
    assert (found.same, found.refit_due) == (False, True)
    assert len(found.differences) <= fairness.MOST_DIFFERENCES


def test_a_setting_that_ranks_otherwise_makes_another_ranking_due(world: World, season_id: int) -> None:
    world.write(edit_season, world.boss, season_id, finals_log=FinalsLog.FINALS)
    found = recount(world, season_id)
    assert (found.same, found.refit_due) == (False, True)
    assert world.write(refit, season_id)
    found = recount(world, season_id)
    assert (found.same, found.refit_due) == (True, False)


def test_other_names_are_no_difference(world: World, season_id: int) -> None:
    standings = stored(world)
    standings["rows"][0]["bot"] = "renamed"
    tamper(world, standings=standings)
    assert recount(world, season_id).same


def test_it_is_recomputed_as_it_was_configured(world: World, season_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored ranking follows from the configuration that is stored with it."""
    monkeypatch.setattr(
        "deadheat.league.service.rankings.ranking._config",
        lambda season: RatingConfig(version_sd_elo=60.0, ranks=season.ranks),
    )
    assert recount(world, season_id).same


def test_another_method_is_said(world: World, season_id: int) -> None:
    tamper(world, config={"method": "bradley-terry-map", "version": 1})
    assert recount(world, season_id).differences == ("The ranking was made by another version of the method.",)


def test_a_season_without_a_ranking_has_nothing_to_compare(world: World) -> None:
    found = recount(world, world.season(1))
    assert (found.snapshot_id, found.same) == (None, True)
    with pytest.raises(errors.NotFound):
        recount(world, 99)


def test_what_was_stored_comes_out_again(world: World, season_id: int) -> None:
    found = recount(world, season_id)
    assert (found.same, found.differences, found.refit_due, found.games) == (True, (), False, 12)


def test_a_result_that_was_changed_is_found(world: World, season_id: int) -> None:
    with world.db.transaction() as session:
        match_id = session.exec(select(Match.id).limit(1)).one()
        for seat in session.exec(select(Participant).where(col(Participant.match_id) == match_id)).all():
            seat.rank = 3 - (seat.rank or 0)
    found = recount(world, season_id)
    assert not found.same
    assert any(difference.startswith("log_sha256 is stored as") for difference in found.differences)
    assert not found.refit_due
