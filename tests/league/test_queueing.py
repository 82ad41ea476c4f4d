"""Queueing for a game: who meets whom, and when the house's bots sit in."""

import pytest

from deadheat.league.errors import NotFound, TooMany, UnknownGame
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.seasons import participation
from deadheat.league.service.tables import places, programs, queueing, sitting, turns, viewing
from deadheat.league.service.tables.sitting import Agent
from deadheat.league.states import SeatKind, TableState
from deadheat.league.tables import GameTable
from tests.league.people import GAME
from tests.league.world import World

ONE, LIARS = Agent("one"), "liars-dice"


def queue(world: World, person: Person, game: str = GAME, agent: Agent = ONE) -> int:
    return world.write(queueing.queue, person, game, agent)


def house_bot(world: World, name: str, game: str = GAME) -> int:
    owner = world.write(closing.house)
    bot_id = world.write(create_bot, owner, game, name).id
    world.version(owner, bot_id)
    return bot_id


def seated(world: World, table_id: int) -> list[tuple[SeatKind, int]]:
    info = world.read(viewing.table_info, table_id)
    return [(player.kind, player.bot_id or player.user_id or 0) for player in info.players]


def waited(world: World, seconds: float = queueing.HOUSE_AFTER.total_seconds()) -> list[int]:
    """Let time pass, and return the tables at which the house's bots have sat down."""
    world.clock.turn(seconds)
    return [table_id for table_id in world.read(queueing.without_players) if world.write(queueing.sit_in, table_id)]


def state(world: World, table_id: int) -> TableState:
    return world.row(GameTable, table_id).state


def test_two_who_queue_meet_and_a_request_may_be_repeated(world: World) -> None:
    ada, bob = world.author(), world.author()
    table_id = queue(world, ada)
    assert queue(world, ada) == table_id and state(world, table_id) is TableState.OPEN
    assert queue(world, bob) == table_id and state(world, table_id) is TableState.RUNNING
    assert queue(world, ada) == queue(world, bob) == table_id, "the answer was lost, and the match had begun"
    assert waited(world) == []


def test_four_play_liars_dice_and_the_oldest_table_fills_first(world: World) -> None:
    people = [world.author() for _ in range(5)]
    tables = [queue(world, person, LIARS) for person in people]
    assert tables[:4] == tables[:1] * 4 != tables[1:]
    assert state(world, tables[0]) is TableState.RUNNING and len(seated(world, tables[4])) == 4


def test_an_agent_meets_none_of_its_own_account_and_another_game_is_another_queue(world: World) -> None:
    ada = world.author()
    tables = {queue(world, ada, agent=Agent(name)) for name in ("one", "two")} | {queue(world, ada, LIARS)}
    assert len(tables) == 3
    queue(world, ada, LIARS, Agent("two"))
    world.refused(TooMany, queueing.queue, ada, GAME, Agent("five"))
    world.refused(UnknownGame, queueing.queue, ada, "chess", ONE)
    assert queue(world, world.author()) == min(tables)


def test_who_queues_joins_a_table_that_somebody_made_to_meet_others_but_no_bots_sit_in_there(world: World) -> None:
    house_bot(world, "greedy")
    made = world.write(sitting.open_table, world.author(), GAME, ["me", "open"], ONE)
    assert waited(world) == []
    assert queue(world, world.author()) == made


def test_house_bots_take_open_seats_after_a_while_and_a_worker_plays(world: World) -> None:
    ada, bob = world.author(), world.author()
    bots = {house_bot(world, name, LIARS) for name in ("honest", "expert")}
    table_id = queue(world, ada, LIARS)
    queue(world, bob, LIARS)
    assert waited(world, 29) == [] and waited(world, 1) == [table_id] and waited(world, 60) == []
    kinds = seated(world, table_id)
    assert kinds[:2] == [(SeatKind.AGENT, ada.id), (SeatKind.AGENT, bob.id)]
    assert {*kinds[2:]} == {(SeatKind.PROGRAM, bot_id) for bot_id in bots}
    job = world.write(programs.claim_table, table_id, "w1", world.host)
    assert job is not None and {*job.programs} == {2, 3}


def test_without_a_house_bot_or_a_place_a_table_waits_on_until_there_is_one(world: World) -> None:
    first = queue(world, world.author())
    owner, closed = world.write(closing.house), house_bot(world, "closed")
    world.write(participation.change_bot, owner, closed, plays_people=False)
    assert waited(world) == [], "its only bot is closed to others"
    bot_id = house_bot(world, "greedy")
    second = queue(world, world.author(), LIARS)
    house_bot(world, "honest", LIARS)
    for _ in range(world.settings.exhibitions // 2):
        world.write(sitting.open_table, world.author(), GAME, ["me", bot_id], ONE)
    assert waited(world) == [] == waited(world) and state(world, first) is TableState.OPEN
    world.write(places.abandon, second + 1, TableState.QUEUED, "left")
    assert waited(world) == [first], "there was one place"
    assert queue(world, world.author(), LIARS) == second


def test_an_account_has_one_table_with_bots_at_a_time(world: World) -> None:
    ada, bot_id = world.author(), house_bot(world, "greedy")
    against = world.write(sitting.open_table, ada, GAME, ["me", bot_id], ONE)
    table_id = queue(world, ada, agent=Agent("two"))
    assert waited(world) == []
    world.write(turns.resign, ada, against, SeatKind.AGENT)
    assert waited(world, 5) == [table_id]


def test_nobody_waits_for_the_bots_because_another_account_has_enough_tables_with_them(world: World) -> None:
    ada, bob, bots = world.author(), world.author(), [house_bot(world, name, LIARS) for name in ("honest", "expert")]
    world.write(sitting.open_table, ada, LIARS, ["me", bots[0]], ONE)
    table_id = queue(world, ada, LIARS, Agent("two"))
    assert queue(world, bob, LIARS) == table_id
    assert waited(world) == [table_id] and state(world, table_id) is TableState.QUEUED
    kinds = [kind for kind, _ in seated(world, table_id)]
    assert kinds == [SeatKind.PROGRAM, SeatKind.AGENT, SeatKind.PROGRAM, SeatKind.PROGRAM]
    world.refused(NotFound, viewing.is_news, ada, table_id)
    assert queue(world, ada, LIARS, Agent("two")) != table_id, "it may queue again"


@pytest.mark.parametrize("others", [0, 1])
def test_who_leaves_the_queue_frees_the_seat(world: World, others: int) -> None:
    ada = world.author()
    table_id = queue(world, ada, LIARS)
    for _ in range(others):
        queue(world, world.author(), LIARS)
    for _ in range(2):
        world.write(queueing.leave, ada, LIARS, "one")
    assert state(world, table_id) is (TableState.OPEN if others else TableState.ABANDONED)
    assert world.read(queueing.queued, ada, LIARS, "one") is None
    assert (queue(world, ada, LIARS) == table_id) is bool(others)


def test_who_plays_does_not_leave_with_the_queue(world: World) -> None:
    ada, bob = world.author(), world.author()
    table_id = queue(world, ada)
    queue(world, bob)
    world.write(queueing.leave, ada, GAME, "one")
    assert state(world, table_id) is TableState.RUNNING
    assert world.read(queueing.queued, ada, GAME, "one") == table_id
