"""What is open when a season is to close: a date waits for it, and a manual close must be forced."""

from __future__ import annotations

import json
import threading
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from deadheat.league import errors
from deadheat.league.service.course import states
from deadheat.league.service.course.open_matters import season_unfinished
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings import appeals
from deadheat.league.service.rulings.appeals import open_appeal
from deadheat.league.service.seasons.seasons import create_season, edit_season
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.views.matches import matches
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import Season, User
from deadheat.league.words import Remedy
from tests.league.world import START, World

HOUR = 3600.0
CLOSES = START + timedelta(hours=1)


def season(world: World, bots: int = 2, **settings: Any) -> int:
    """A season that closes in an hour, its ladder played."""
    settings.setdefault("closes_at", CLOSES)
    season_id = world.season(bots, **settings)
    world.play_all()
    return season_id


def state(world: World, season_id: int) -> SeasonState:
    return world.row(Season, season_id).state


def waits_for(world: World, season_id: int) -> list[str]:
    return world.read(states.waits_for, season_id)


def appeal(world: World, season_id: int) -> int:
    """The author of the first bot appeals against its newest match."""
    with world.db.transaction() as session:
        match = matches(session, season_id=season_id)[0]
        user = session.exec(select(User).where(User.name == match.seats[0].author)).one()
        owner = Person(user.id, user.name, user.role)
        return open_appeal(session, owner, match.id, "It was late by a hair.", {"verified": True}).id


def rule(world: World, appeal_id: int, remedy: Remedy = Remedy.NONE) -> None:
    world.write(
        appeals.rule, world.boss, appeal_id, uphold=remedy is not Remedy.NONE, ruling="looked at", remedy=remedy
    )


def newest_record(world: World, season_id: int) -> tuple[str, str, dict[str, Any]]:
    found = world.read(audit_log, subject=f"season/{season_id}", limit=1)[0]
    return found.actor, found.action, json.loads(found.data)


def play_waiting(world: World) -> None:
    """Play the series that the sweeper enqueues."""
    waiting = world.write(sweep)[SERIES]
    for series_id in waiting:
        assert world.finish(world.claimed(series_id))


def move_close(world: World, season_id: int, closes_at: datetime) -> None:
    world.write(edit_season, world.boss, season_id, closes_at=closes_at)


def test_a_date_waits_for_an_open_appeal_and_nothing_new_is_played_meanwhile(world: World) -> None:
    season_id = season(world)
    opened = appeal(world, season_id)
    assert waits_for(world, season_id) == []  # it is not due to close
    world.clock.turn(2 * HOUR)
    world.write(edit_season, world.boss, season_id, games_per_pair=40)
    assert world.tick() == []
    assert state(world, season_id) is SeasonState.FROZEN
    assert waits_for(world, season_id) == ["1 open appeal"]
    rule(world, opened)
    assert world.tick() == []
    assert state(world, season_id) is SeasonState.CLOSED
    assert newest_record(world, season_id) == ("system", "season-closed", {"before": "frozen"})


@pytest.mark.databases
def test_an_appeal_that_is_being_opened_holds_the_season_too(world: World) -> None:
    """The close waits for whoever is at it, and then sees the appeal."""
    season_id = season(world)
    opening = threading.Event()

    def open_slowly() -> None:
        database = world.connect()
        with database.transaction() as session:
            match = matches(session, season_id=season_id)[0]
            user = session.exec(select(User).where(User.name == match.seats[0].author)).one()
            open_appeal(session, Person(user.id, user.name, user.role), match.id, "no", {"verified": True})
            opening.set()
            time.sleep(0.3)

    thread = threading.Thread(target=open_slowly)
    thread.start()
    opening.wait()
    world.clock.turn(2 * HOUR)
    world.tick()
    thread.join()
    assert (state(world, season_id), waits_for(world, season_id)) == (SeasonState.FROZEN, ["1 open appeal"])


def test_a_date_waits_until_a_match_has_been_played_again(world: World) -> None:
    """Closing would have dropped the repetition and let the match count that an organiser had ruled out."""
    season_id = season(world)
    rule(world, appeal(world, season_id), Remedy.REJUDGE)
    world.clock.turn(2 * HOUR)
    world.tick()
    assert waits_for(world, season_id) == ["1 match still to be played (1 of them by a ruling)"]
    play_waiting(world)
    world.tick()
    assert state(world, season_id) is SeasonState.CLOSED


def test_a_date_does_not_cut_finals_off(world: World) -> None:
    season_id = season(world, 3, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
    world.clock.turn(2 * HOUR)
    world.tick()
    assert state(world, season_id) is SeasonState.FROZEN
    assert waits_for(world, season_id) == ["finals that are not over"]  # nobody has begun them
    world.write(set_season_state, world.boss, season_id, SeasonState.FINALS)
    world.write(refit, season_id)
    made = world.tick()
    assert (len(made), state(world, season_id)) == (3, SeasonState.FINALS)
    for series_id in made:
        assert world.finish(world.claimed(series_id))
    world.tick()
    assert state(world, season_id) is SeasonState.CLOSED


def test_the_end_of_the_finals_waits_for_an_appeal_too(world: World) -> None:
    season_id = world.season(2, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
    world.play_all()
    opened = appeal(world, season_id)
    world.write(set_season_state, world.boss, season_id, SeasonState.FINALS)
    world.write(refit, season_id)
    world.play_all()
    assert state(world, season_id) is SeasonState.FINALS
    assert waits_for(world, season_id) == ["1 open appeal"]
    rule(world, opened)
    world.tick()
    assert state(world, season_id) is SeasonState.CLOSED


def test_a_date_ends_the_ladder_and_says_what_was_not_played(world: World) -> None:
    season_id = world.season(3, closes_at=CLOSES, games_per_pair=4)
    world.tick()
    world.clock.turn(2 * HOUR)
    world.tick()
    assert state(world, season_id) is SeasonState.CLOSED
    cut_off = {"before": "open", "unplayed_matches": 12}
    assert newest_record(world, season_id) == ("system", "season-closed", cut_off)


def test_by_hand_a_close_that_cuts_something_off_must_be_meant(world: World) -> None:
    season_id = world.season(2, finals=FinalsFormat.SWISS)
    world.play_all()
    appeal(world, season_id)
    world.write(edit_season, world.boss, season_id, games_per_pair=6)
    world.tick()
    said = (
        "Season 1 has 1 open appeal, 2 matches still to be played and finals that are not over. "
        "Use `force` to close it anyway."
    )
    with pytest.raises(errors.Unsettled) as refused, world.db.transaction() as session:
        set_season_state(session, world.boss, season_id, SeasonState.CLOSED)
    assert str(refused.value) == said
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED, force=True)
    noted = {"before": "open", "open_appeals": 1, "unplayed_matches": 2, "finals_cut_off": True}
    assert newest_record(world, season_id) == ("boss", "season-closed", noted)


def test_what_runs_needs_no_force_for_it_counts(world: World) -> None:
    season_id = world.season(2, games_per_pair=2)
    (series_id,) = world.tick()
    assert world.claim(series_id) is not None
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED)
    assert newest_record(world, season_id)[2] == {"before": "open"}


def test_a_season_past_its_close_is_not_thawed_before_the_date_has_moved(world: World) -> None:
    season_id = season(world)
    appeal(world, season_id)
    world.clock.turn(2 * HOUR)
    world.tick()
    with pytest.raises(errors.BadSetting, match="closes_at: it has passed"), world.db.transaction() as session:
        set_season_state(session, world.boss, season_id, SeasonState.OPEN)
    move_close(world, season_id, START + timedelta(hours=9))
    world.write(set_season_state, world.boss, season_id, SeasonState.OPEN)
    world.tick()
    assert state(world, season_id) is SeasonState.OPEN


def test_a_season_that_has_not_begun_has_nothing_open(world: World) -> None:
    made = world.write(create_season, world.boss, game="yacht-auction", name="w", finals=FinalsFormat.SWISS)
    assert not world.write(season_unfinished, made.id).anything
    world.write(set_season_state, world.boss, made.id, SeasonState.CLOSED)
