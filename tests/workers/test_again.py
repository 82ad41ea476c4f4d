"""A trusted worker plays again what a lent machine played, with real programs, and keeps nothing but coins."""

from unittest import mock

import pytest
from sqlmodel import col, func, select

from deadheat.engine.core import TransportError
from deadheat.league.service.machines import trust
from deadheat.league.service.machines.access import add_machine
from deadheat.league.states import Trust
from deadheat.league.tables import Attempt, LiveMatch, Match, PlayedAgain, Series
from deadheat.sandbox.arena import Arena
from deadheat.workers.again import play_again_when_due
from tests.workers.conftest import PlayingWorld

UNTOUCHED = (Series, Match, Attempt, LiveMatch)


def lent(world: PlayingWorld) -> list[int]:
    """Play a series as a lent machine does, draw all of its matches, and return their numbers."""
    world.write(add_machine, "lent", Trust.LOW)
    series_id = world.queued(2)
    job = world.claimed(series_id, worker="lent:1")
    assert world.finish(job, worker="lent:1")
    with world.db.transaction() as session:
        for match in job.matches:
            session.add(PlayedAgain(match_id=match.match_id, machine="lent", due_at=world.clock()))
    return [match.match_id for match in job.matches]


def counted(world: PlayingWorld) -> list[int]:
    with world.db.reading() as session:
        return [session.exec(select(func.count()).select_from(table)).one() for table in UNTOUCHED]


def test_each_match_is_played_twice_with_its_own_dice_and_leaves_nothing_but_its_coins(world: PlayingWorld) -> None:
    numbers = lent(world)
    before, playing = counted(world), []
    original = Arena.play
    seeds = {number: world.row(Match, number).seed for number in numbers}

    def play(self: Arena, *arguments: object, **options: object) -> object:
        playing.append(arguments[2])
        return original(self, *arguments, **options)  # type: ignore[arg-type]

    with mock.patch.object(Arena, "play", play):
        for _ in range(3):  # the last has nothing left
            play_again_when_due(world.context)
    assert playing == [seeds[number] for number in numbers for _ in range(2)]
    assert counted(world) == before
    with world.db.reading() as session:
        rows = session.exec(select(PlayedAgain).order_by(col(PlayedAgain.match_id))).all()
    assert [(row.match_id, row.coins is not None) for row in rows] == [(number, True) for number in numbers]


@pytest.mark.parametrize("error", [TransportError("container-died", "it died"), None])
def test_what_could_not_be_played_again_is_due_after_a_pause(world: PlayingWorld, error: Exception | None) -> None:
    number = lent(world)[0]
    if error is None:
        world.context.__dict__["blobs"] = mock.Mock(get=mock.Mock(side_effect=TransportError("engine", "away")))
    with mock.patch.object(Arena, "play", side_effect=error):
        play_again_when_due(world.context)
    row = world.row(PlayedAgain, number)
    assert (row.coins, row.due_at > world.clock()) == (None, True)
    assert row.due_at <= world.clock() + trust.AGAIN_AFTER
