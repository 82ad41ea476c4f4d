"""A bot has a place in the queue and an estimate of its wait."""

from __future__ import annotations

import pytest
from sqlmodel import col, update

from deadheat.league.errors import NotFound
from deadheat.league.records.entries import Waiting
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import withdraw
from deadheat.league.service.views.waiting import NOT_LATELY, NOTHING_PLAYED, waiting
from deadheat.league.states import JobState, Precedence, SeasonState
from deadheat.league.tables import Series
from tests.league.world import World


class Newcomer:
    """A bot that has just entered an open season, in which four others have series of two matches waiting."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.season, self.queue, self.owner, self.bot = world.repeated(self._made, "newcomer")

    def _made(self) -> tuple[int, list[int], Person, int]:
        season_id = self.world.season(4)
        return season_id, self.world.tick(), *self.world.entrant(season_id)

    def waits(self, version: int | None = None) -> Waiting:
        return self.world.read(waiting, self.season, self.bot, version)

    def play(self, series_id: int, seconds: float) -> None:
        job = self.world.claimed(series_id)
        self.world.clock.turn(seconds)
        assert self.world.finish(job)


@pytest.fixture
def newcomer(world: World) -> Newcomer:
    return Newcomer(world)


def test_a_place_in_the_queue_and_a_guess_by_the_pace_of_the_last_hour(newcomer: Newcomer) -> None:
    """Two series are played at a time, for 20 s each."""
    undrawn = newcomer.waits()
    assert (undrawn.planned, undrawn.before, undrawn.over) == (0, 2 * len(newcomer.queue), False)
    assert "It has no match waiting" in undrawn.sentence
    own = newcomer.world.tick()
    assert newcomer.waits().before < 2 * len(newcomer.queue), "placement comes before most"
    with newcomer.world.db.transaction() as session:
        for series_id in own:
            session.get_one(Series, series_id).precedence = Precedence.ORDINARY
    assert newcomer.waits().sentence.endswith(NOTHING_PLAYED)
    for _ in range(2):
        assert newcomer.waits().seconds is None
        newcomer.play(newcomer.queue.pop(0), 20)
    for series_id in (newcomer.queue.pop(0), newcomer.queue.pop(0)):
        assert newcomer.world.claim(series_id)
    assert newcomer.waits().sentence.endswith(NOT_LATELY), "two are too few"
    newcomer.play(newcomer.queue.pop(0), 20)
    ahead = 2 * len(newcomer.queue)
    found = newcomer.waits()
    assert (found.playing, found.before) == (0, ahead)
    assert found.seconds == round((10 * ahead + 2 * 10) / 2 + 20)
    assert f"after {ahead} matches of other bots." in found.sentence
    assert newcomer.waits(version=1) == found
    for attempt, is_known in ((2, False), (1, True)):
        with newcomer.world.db.transaction() as session:
            session.execute(update(Series).where(col(Series.state) == JobState.DONE).values(attempt=attempt))
        assert (newcomer.waits().seconds is not None) is is_known, "a second attempt played a part only"
    assert newcomer.world.claim(own[0])
    playing = newcomer.waits()
    assert (playing.playing, playing.seconds) == (2, 20)
    newcomer.world.clock.turn(30)
    assert "at any moment" in newcomer.waits().sentence


def test_what_waits_for_nothing_says_why(newcomer: Newcomer) -> None:
    world, season = newcomer.world, newcomer.season
    world.version(newcomer.owner, newcomer.bot)
    replaced = newcomer.waits(version=1)
    assert replaced.over and "version 2 plays" in replaced.sentence
    assert not newcomer.waits(version=2).over
    with pytest.raises(NotFound):
        newcomer.waits(version=3)
    world.write(withdraw, newcomer.owner, season, newcomer.bot)
    assert newcomer.waits().over and "withdrawn" in newcomer.waits().sentence
    world.set_state(season, SeasonState.CLOSED, force=True)
    assert newcomer.waits().over and "closed" in newcomer.waits().sentence


def test_nothing_follows_by_itself_where_nothing_arrives_or_no_ladder_is_played(world: World) -> None:
    def says(season: int) -> str:
        return world.read(waiting, season, world.entrant(season)[1]).sentence

    busy, still = world.season(4), world.season(0, ladder=False)
    assert not says(still).endswith("arrives.")
    assert world.tick() and "only evaluations and finals" in says(still), "others' matches lead to none of its own"
    season = world.season(0)
    _, bot_id = world.entrant(season)
    world.set_state(busy, SeasonState.CLOSED, force=True)
    assert world.read(waiting, season, bot_id).sentence.endswith("arrives.")
    world.set_state(season, SeasonState.FROZEN)
    assert world.read(waiting, season, bot_id).sentence == "It has no matches at present."
