"""Seasons of agents: their matches keep no machine busy, and leave no trace where they were not played."""

import hashlib

from deadheat.league.service.jobs import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.series import capacity
from deadheat.league.service.series.pace import ENOUGH
from deadheat.league.service.tables import entering, turns
from deadheat.league.service.tables.sitting import Agent
from deadheat.league.service.views import queues
from deadheat.league.states import Players, Role, SeatKind
from deadheat.league.tables import Season
from tests.league.people import GAME
from tests.league.world import World

ONE = Agent("one")


def season(world: World, **settings: object) -> int:
    return world.season(0, players=Players.AGENTS, games_per_pair=None, **settings)


def queue(world: World, person: Person, season_id: int, agent: Agent = ONE) -> int:
    claim = hashlib.sha256(entering.claim_of(agent)).hexdigest()
    return world.write(entering.queue, person, season_id, agent, claim)


def play(world: World, season_id: int) -> int:
    """Begin a match of two agents, and return the table."""
    first = queue(world, world.author(), season_id)
    assert queue(world, world.author(), season_id) == first
    return first


def figures(world: World) -> tuple[object, ...]:
    """Return what operators and planners are told of the work of machines."""
    told = world.read(queues.queues)
    series = next(queue for queue in told.queues if queue.name == sweep.SERIES.queue)
    new = Season(game=GAME, name="new")
    return told.slots, told.idle_slots, dict(series.rows), world.read(capacity.machines_for, new)


def test_a_table_of_agents_keeps_no_machine_from_getting_lost_messages_again(world: World) -> None:
    world.season(4)
    planned = world.tick()
    play(world, season(world))
    world.clock.turn(world.settings.requeue_seconds / 2)
    before = figures(world)
    sent = world.write(sweep.sweep)[sweep.SERIES]
    assert {*sent} == {*planned} and sent
    play(world, season(world))
    assert figures(world) == before, "all slots are idle"


def test_agents_matches_are_no_measure_of_machines(world: World) -> None:
    world.season(2)
    before, season_id = figures(world), season(world)
    for _ in range(ENOUGH):
        table_id = play(world, season_id)
        world.clock.turn(600)
        for seat in world.read(turns.at_table, table_id).seats.values():
            assert seat.user_id is not None
            world.write(turns.resign, Person(seat.user_id, "", Role.AUTHOR), table_id, SeatKind.AGENT)
        transcript = world.read(turns.record, table_id)
        assert world.write(turns.finish, table_id, 0, transcript.result, "0" * 64, transcript)
    assert figures(world) == before
