"""What stops play says so wherever people look, since when."""

from __future__ import annotations

from sqlmodel import Session, delete

from deadheat.league.service.duels import views
from deadheat.league.service.series.hosts import host_arrives, host_seen, record_check
from deadheat.league.service.views.stoppage import stopped
from deadheat.league.service.views.waiting import NOTHING_PLAYED, waiting
from deadheat.league.tables import WorkerHost
from tests.league.test_asked import League
from tests.league.world import World


def test_a_machine_that_is_checked_unfit_or_silent_is_named_with_the_time(world: World) -> None:
    assert world.read(stopped) == ""
    world.worked(host_arrives, world.host, "another image")
    world.clock.turn(40)
    assert world.read(stopped) == "The machine has been under check for 40 s; matches begin when it passes."
    world.worked(record_check, world.host, {}, ["It is too slow."], 60)
    world.clock.turn(240)
    assert world.read(stopped) == "No machine has been fit to play for 4 minutes."
    world.worked(record_check, world.host, {}, [], 0)
    assert world.read(stopped) == ""
    world.clock.listeners.clear()
    world.clock.turn(120)
    assert world.read(stopped) == "No machine has reported for 2 minutes, so nothing is played."
    world.write(_forget)
    assert world.read(stopped) == "No machine has ever reported, so nothing is played."


def _forget(session: Session) -> None:
    session.exec(delete(WorkerHost))


def test_who_holds_processors_is_told_while_matches_go_on(world: World) -> None:
    world.clock.listeners.clear()
    for since, held_by in (("10 s", "deadheat tournament of ada"), ("20 s", None)):
        world.worked(host_seen, world.host, held_by=held_by)
        world.clock.turn(10)
        told = f"Processors have been held by deadheat tournament of ada for {since}, so matches run more slowly."
        assert world.read(stopped) == told
    world.worked(host_seen, world.host, held_by="")
    assert world.read(stopped) == ""


def test_bots_and_challenges_say_what_they_wait_for(world: World) -> None:
    league = League(world, games_per_pair=None)
    challenge = league.ask(2)
    assert challenge.waits == "Its next matches are planned in a moment."
    second = league.ask(2)
    assert second.waits == f"It waits until challenge {challenge.id} is over, which was asked for earlier."
    world.tick()
    sentence = world.read(waiting, league.season_id, league.rival_bot).sentence
    assert sentence.endswith(NOTHING_PLAYED)
    told = world.read(views.asked_challenge, league.author, challenge.id).waits
    patience = "Rated matches go first, but one slot in 8 is kept for unrated ones once they have waited a minute."
    assert told == f"It is next in line for a slot. {patience}"
    world.clock.turn(1)
    other = league.ask(2, league.other, bot_id=league.other_bot)
    world.tick()
    told = world.read(views.asked_challenge, league.other, other.id).waits
    assert told == f"It waits for a slot, behind 1 unrated series. {patience}"
    world.worked(host_arrives, world.host, "another image")
    world.clock.turn(30)
    stop = "The machine has been under check for 30 s; matches begin when it passes."
    assert world.read(waiting, league.season_id, league.rival_bot).sentence.endswith(stop)
    assert world.read(views.asked_challenge, league.author, challenge.id).waits == stop
