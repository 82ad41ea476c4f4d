"""A closing date waits for what is open in a season, and closing by hand must then be forced."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlmodel import Session, select

from deadheat.league import errors
from deadheat.league.service.course import states
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings import appeals
from deadheat.league.service.seasons.seasons import create_season, edit_season
from deadheat.league.service.views.matches import matches
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import Season, User
from deadheat.league.words import Remedy
from tests.league.clock import START
from tests.league.world import World, tick

HOUR = 3600.0
CLOSES = START + timedelta(hours=1)


def season(world: World, bots: int = 2, **settings: Any) -> int:
    """Open a season that closes in an hour, and play its ladder."""
    return world.played(bots, **{"closes_at": CLOSES, **settings})


def waits_for(world: World, season_id: int) -> list[str]:
    return world.read(states.waits_for, season_id)


def appeal_in(session: Session, season_id: int) -> int:
    """Let the author of the bot in the first seat of the newest match appeal."""
    match = matches(session, season_id=season_id)[0]
    user = session.exec(select(User).where(User.name == match.seats[0].author)).one()
    return appeals.open_appeal(session, Person(user.id, user.name, user.role), match.id, "no", {"verified": True}).id


def appeal(world: World, season_id: int) -> int:
    return world.write(appeal_in, season_id)


def rule(world: World, appeal_id: int, remedy: Remedy = Remedy.NONE) -> None:
    upheld = remedy is not Remedy.NONE
    world.write(appeals.rule, world.boss, appeal_id, uphold=upheld, ruling="looked at", remedy=remedy)


def newest_record(world: World, season_id: int) -> tuple[str, str, dict[str, Any]]:
    found = world.read(audit_log, subject=f"season/{season_id}", limit=1)[0]
    return found.actor, found.action, json.loads(found.data)


def test_a_date_waits_for_an_open_appeal_and_nothing_new_is_played_meanwhile(world: World) -> None:
    season_id = season(world)
    opened = appeal(world, season_id)
    assert waits_for(world, season_id) == []  # it is not due to close
    world.clock.turn(2 * HOUR)
    world.write(edit_season, world.boss, season_id, games_per_pair=40)
    assert world.tick() == []
    assert world.row(Season, season_id).state is SeasonState.FROZEN
    assert waits_for(world, season_id) == ["1 open appeal"]
    rule(world, opened)
    assert world.tick() == []
    assert world.row(Season, season_id).state is SeasonState.CLOSED
    assert newest_record(world, season_id) == ("system", "season-closed", {"before": "frozen"})


@pytest.mark.databases
def test_an_appeal_that_is_being_opened_holds_the_season_too(world: World) -> None:
    """Closing waits for the transaction that opens the appeal."""
    season_id = season(world)
    world.clock.turn(2 * HOUR)
    world.at_once(partial(appeal_in, season_id=season_id), tick)
    assert (world.row(Season, season_id).state, waits_for(world, season_id)) == (SeasonState.FROZEN, ["1 open appeal"])


def test_a_date_waits_until_a_match_has_been_played_again(world: World) -> None:
    """Otherwise the replay would be dropped, and the match that was ruled out would count."""
    season_id = season(world)
    rule(world, appeal(world, season_id), Remedy.REJUDGE)
    world.clock.turn(2 * HOUR)
    world.tick()
    assert waits_for(world, season_id) == ["1 match still to be played (1 of them by a ruling)"]
    world.play(world.enqueued())
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_a_date_does_not_cut_finals_off(world: World) -> None:
    season_id = season(world, 3, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
    world.clock.turn(2 * HOUR)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.FROZEN
    assert waits_for(world, season_id) == ["finals that are not over"]  # nobody has begun them
    world.set_state(season_id, SeasonState.FINALS)
    world.write(refit, season_id)
    made = world.tick()
    assert (len(made), world.row(Season, season_id).state) == (3, SeasonState.FINALS)
    world.play(made)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_the_end_of_the_finals_waits_for_an_appeal_too(world: World) -> None:
    season_id = world.season(2, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
    world.play_all()
    opened = appeal(world, season_id)
    world.set_state(season_id, SeasonState.FINALS)
    world.write(refit, season_id)
    world.play_all()
    assert world.row(Season, season_id).state is SeasonState.FINALS
    assert waits_for(world, season_id) == ["1 open appeal"]
    rule(world, opened)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_a_date_ends_the_ladder_and_says_what_was_not_played(world: World) -> None:
    season_id = world.season(3, closes_at=CLOSES, games_per_pair=4)
    world.tick()
    world.clock.turn(2 * HOUR)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.CLOSED
    cut_off = {"before": "open", "unplayed_matches": 12}
    assert newest_record(world, season_id) == ("system", "season-closed", cut_off)


def test_by_hand_a_close_that_cuts_something_off_must_be_meant(world: World) -> None:
    season_id = world.season(2, finals=FinalsFormat.SWISS)
    world.play_all()
    appeal(world, season_id)
    world.write(edit_season, world.boss, season_id, games_per_pair=6)
    world.tick()
    with pytest.raises(errors.Unsettled, match="1 open appeal, 2 matches still to be played and finals"):
        world.set_state(season_id, SeasonState.CLOSED)
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    noted = {"before": "open", "open_appeals": 1, "unplayed_matches": 2, "finals_cut_off": True}
    assert newest_record(world, season_id) == ("boss", "season-closed", noted)


def test_series_under_way_need_no_force(world: World) -> None:
    season_id = world.season(2, games_per_pair=2)
    (series_id,) = world.tick()
    assert world.claim(series_id) is not None
    world.set_state(season_id, SeasonState.CLOSED)
    assert newest_record(world, season_id)[2] == {"before": "open"}


def test_a_season_that_has_not_begun_has_nothing_open(world: World) -> None:
    made = world.write(create_season, world.boss, game="yacht-auction", name="w", finals=FinalsFormat.SWISS)
    assert not world.write(states.unfinished, made.id).anything
    world.set_state(made.id, SeasonState.CLOSED)


def test_a_season_past_its_close_is_not_thawed_before_the_date_has_moved(world: World) -> None:
    season_id = season(world)
    appeal(world, season_id)
    world.clock.turn(2 * HOUR)
    world.tick()
    with pytest.raises(errors.BadSetting, match="closes_at: it has passed"):
        world.set_state(season_id, SeasonState.OPEN)
    world.write(edit_season, world.boss, season_id, closes_at=START + timedelta(hours=9))
    world.set_state(season_id, SeasonState.OPEN)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.OPEN
