"""Seasons of agents: their matches keep no machine busy, and leave no trace where they were not played."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import Session, select

from deadheat.league.causes import Cause
from deadheat.league.errors import OverQuota
from deadheat.league.service.jobs import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.service.series import capacity
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.pace import ENOUGH
from deadheat.league.service.tables import entering, places, sitting, turns, viewing
from deadheat.league.service.tables.sitting import TABLES_PER_HOUR, Agent
from deadheat.league.service.views import queues
from deadheat.league.states import Players, Role, SeatKind, TableState
from deadheat.league.tables import GameTable, Pair, Season
from tests.league.people import GAME
from tests.league.test_queueing import house_bot, state, waited
from tests.league.test_rated_tables import queue, season
from tests.league.world import World


def play(world: World, season_id: int) -> int:
    """Begin a match of two agents, and return the table."""
    first = queue(world, world.author(), season_id)
    assert queue(world, world.author(), season_id) == first
    return first


def figures(world: World) -> tuple[object, ...]:
    """Return what operators and planners are told of the work of machines."""
    told = world.read(queues.queues)
    series = next(queue for queue in told.queues if queue.name == SERIES.queue)
    new = Season(game=GAME, name="new", name_key="new", created_at=world.clock.now)
    return told.slots, told.idle_slots, dict(series.rows), world.read(capacity.machines_for, new)


def test_a_table_of_agents_keeps_no_machine_from_getting_lost_messages_again(world: World) -> None:
    world.season(4)
    planned = world.tick()
    play(world, season(world))
    world.clock.turn(world.settings.requeue_seconds / 2)
    before = figures(world)
    sent = world.write(sweep.sweep)[SERIES]
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
        assert transcript is not None
        assert world.write(turns.finish, table_id, 0, transcript.result, "0" * 64, transcript)
    assert figures(world) == before


def test_a_match_that_was_given_up_is_not_counted_for_its_pair(world: World) -> None:
    table_id = play(world, season(world))
    assert [pair.games for pair in world.rows(select(Pair))] == [1]
    world.write(places.abandon, table_id, TableState.RUNNING, Cause.UNKNOWN)
    assert [(pair.games, pair.lead) for pair in world.rows(select(Pair))] == [(0, 0)]


def test_a_season_of_agents_has_tables_of_four_where_the_game_has_room(world: World) -> None:
    for game, players, seats in (("liars-dice", "agents", 4), ("liars-dice", "programs", 2), (GAME, "agents", 2)):
        settings: dict[str, Any] = {"players": Players(players), "games_per_pair": None}
        made = world.write(create_season, world.boss, name=f"{game} of {players}", game=game, **settings)
        assert made.seats == seats


@pytest.mark.parametrize(("seconds", "begins"), [(20, False), (40, True)])
def test_the_house_begins_no_match_after_the_ladders_end(world: World, seconds: int, begins: bool) -> None:
    house_bot(world, "greedy")
    table_id = queue(world, world.author(), season(world, closes_at=world.clock.now + timedelta(seconds=seconds)))
    assert waited(world) == [table_id] * begins
    assert (world.row(GameTable, table_id).match_id is not None) is begins
    assert state(world, table_id) is (TableState.QUEUED if begins else TableState.OPEN)


@pytest.mark.databases
def test_who_queues_does_not_read_all_tables_of_the_season(world: World) -> None:
    season_id = season(world)
    ada = world.author()
    queue(world, ada, season_id)
    asked: list[tuple[str, Any]] = []
    event.listen(world.write(Session.get_bind), "before_cursor_execute", lambda *given: asked.append(given[2:4]))
    queue(world, ada, season_id)
    queue(world, world.author(), season_id)
    with world.db.reading() as session:
        connection = session.connection()
        explain = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
        plans = [
            str(row)
            for statement, given in tuple(asked)
            if statement.startswith("SELECT")
            for row in connection.exec_driver_sql(f"{explain} {statement}", given)
        ]
    assert len(plans) > len(asked) > 10
    assert [row for row in plans if "ix_game_table_season_id" in row] == []


def test_sitting_down_and_leaving_counts_although_others_wait_on_there(world: World) -> None:
    ada, bob = world.author(), world.author()
    season_id = season(world, game="liars-dice", seats=4)
    table_id = queue(world, ada, season_id)
    for _ in range(TABLES_PER_HOUR):
        assert queue(world, bob, season_id) == table_id
        world.write(turns.resign, bob, table_id, SeatKind.AGENT)
    world.refused(OverQuota, entering.queue, bob, season_id, Agent("one"), hashlib.sha256(b"one\n").hexdigest())
    info = world.read(viewing.table_info, table_id + 1)
    assert (info.state, info.cause, [player.user_id for player in info.players]) == (
        TableState.ABANDONED,
        Cause.LEFT,
        [bob.id],
    )
    assert queue(world, world.author(), season_id) == table_id, "the others may"
    assert world.read(sitting.seats_of, bob) == []
