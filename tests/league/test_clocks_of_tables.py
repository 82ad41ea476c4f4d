"""Whose time it is at a table: time that is ours convicts nobody, and who is late does not gain."""

from datetime import datetime, timedelta

import pytest
from sqlmodel import update

from deadheat.engine.core import Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.league.causes import Cause
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import programs, sitting, turns, viewing
from deadheat.league.states import SeatKind, TableState
from deadheat.league.tables import GameTable, TableSeat
from tests.league import tabled
from tests.league.test_agents import AGENT, HIGH, LOW, answer, fetch, pair, refused, sit, watched
from tests.league.world import World

PACE = sitting.PACE_SECONDS + turns.FOR_THE_NETWORK.total_seconds()
GRACE = turns.GRACE.total_seconds()


def asked(world: World) -> tuple[Person, programs.TableJob]:
    """Let a person be asked at a table with a bot."""
    _, bot_id = world.playing_bot("greedy")
    person = world.author()
    table_id = world.write(sitting.take_seat, person, bot_id, 1, 0)
    job = world.write(programs.claim_table, table_id, "w1", world.host)
    assert job is not None and world.write(programs.exchange, job, 0, {1: Reply("OK", 5)}) is not None
    return person, job


def last(world: World) -> tuple[Person, int]:
    """Let one agent of two be asked who has fetched the question, while the other one has answered."""
    ada, bob, table_id = pair(world)
    fetch(world, ada, table_id)
    answer(world, bob, table_id, 1, LOW)
    return ada, table_id


def until(world: World, table_id: int, seat: int = 0) -> datetime:
    with world.db.reading() as session:
        row, its = session.get_one(GameTable, table_id), session.get_one(TableSeat, (table_id, seat))
        at = turns.deadline(session, row, its)
    assert at is not None
    return at


def fault(world: World, table_id: int) -> dict[int, Fault] | None:
    record = world.read(turns.record, table_id)
    return None if record is None else dict(record.result.faults)


def test_a_match_that_another_version_began_goes_on_with_all_the_time(world: World) -> None:
    person, job = asked(world)
    with world.db.transaction() as session:
        session.exec(update(GameTable).values(watched_at=None))
    world.clock.turn(world.settings.exhibition_seconds + 60)
    world.write(tabled.watched)
    assert world.row(GameTable, job.table_id).watched_at == world.clock.now
    assert until(world, job.table_id) == world.clock.now + timedelta(seconds=world.settings.exhibition_move_seconds)
    world.write(turns.answer, person, job.table_id, 1, HIGH)


def test_an_outage_longer_than_a_whole_match_ends_none(world: World) -> None:
    person, job = asked(world)
    world.write(tabled.watched)
    before, away = until(world, job.table_id), timedelta(seconds=world.settings.exhibition_seconds + 60)
    world.clock.turn(away.total_seconds())
    world.write(tabled.watched)
    assert until(world, job.table_id) == before + away
    world.write(turns.answer, person, job.table_id, 1, HIGH)


def test_a_short_restart_costs_nobody_time_and_gives_nobody_more(world: World) -> None:
    ada, table_id = last(world)
    watched(world, PACE - 1)
    before = until(world, table_id)
    world.clock.turn(4)
    answer(world, ada, table_id, 1, LOW)

    ada, table_id = last(world)
    watched(world, PACE - 1)
    before = until(world, table_id)
    world.clock.turn(4)
    world.write(tabled.watched)
    assert until(world, table_id) == before + timedelta(seconds=4)
    watched(world, 1.5)
    assert refused(world, ada, table_id, 1, LOW) == "late"


def test_who_was_late_before_we_were_away_is_late_after_it(world: World) -> None:
    ada, table_id = last(world)
    watched(world, PACE + 1)
    world.clock.turn(100)
    assert refused(world, ada, table_id, 1, LOW) == "late"
    assert watched(world, GRACE + 3) == [table_id] and fault(world, table_id) == {0: Fault.TIMEOUT}


def test_what_was_received_in_time_counts_although_it_reached_us_after_the_next_look(world: World) -> None:
    ada, table_id = last(world)
    watched(world, PACE - 1)
    received_at = world.clock.now
    assert watched(world, 3) == []
    ago = world.clock.now - received_at
    assert world.write(turns.answer, ada, table_id, 1, LOW, SeatKind.AGENT, lambda: ago).received_at == received_at


@pytest.mark.parametrize("fetches_after", [turns.UNTIL_DELIVERED.total_seconds() + 20, PACE + 16])
def test_who_fetches_late_gains_no_time(world: World, fetches_after: float) -> None:
    ada, bob, table_id = pair(world)
    answer(world, bob, table_id, 1, LOW)
    latest = world.clock.now + turns.UNTIL_DELIVERED + timedelta(seconds=PACE)
    watched(world, fetches_after)
    assert fetch(world, ada, table_id).deadline_at == latest
    watched(world, (latest - world.clock.now).total_seconds() + GRACE + 1)
    absent = fetches_after > PACE + turns.UNTIL_DELIVERED.total_seconds()
    assert fault(world, table_id) == {0: Fault.EXITED if absent else Fault.TIMEOUT}


def test_who_has_resigned_is_not_late_as_well(world: World) -> None:
    ada, bob, table_id = pair(world)
    fetch(world, ada, table_id)
    watched(world, 10)
    fetch(world, bob, table_id)
    world.write(turns.resign, ada, table_id, SeatKind.AGENT)
    watched(world, PACE - 5)
    answer(world, bob, table_id, 1, LOW)
    assert fault(world, table_id) == {0: Fault.EXITED}


def against_bot(world: World) -> tuple[Person, programs.TableJob]:
    """Let an agent answer a bot's first move."""
    _, bot_id = world.playing_bot("greedy")
    ada = world.author()
    table_id = sit(world, ada, bot_id, "me")
    job = world.write(programs.claim_next_table, table_id, "w1", world.host)
    assert job is not None
    world.write(programs.exchange, job, 0, {0: Reply("OK", 5)})
    answer(world, ada, table_id, 1, LOW)
    assert world.write(programs.exchange, job, 1, {0: Reply(HIGH, 7)})
    return ada, job


def test_an_agent_is_not_told_otherwise_after_our_failure(world: World) -> None:
    ada, job = against_bot(world)
    assert world.write(programs.exchange, job, 1, {0: Reply(HIGH, 9)}), "the bot says the same"
    assert world.write(programs.exchange, job, 1, {0: Reply("BID B 9", 7)}) is None
    over = fetch(world, ada, job.table_id, 2)
    assert (over.state, over.fault, over.ranks, over.prompt) == (TableState.ABANDONED, None, None, None)
    assert not world.write(programs.renew_table, job) and world.row(GameTable, job.table_id).open_place is None


OTHER_RULES = '[[[0,"OK",0,null,null,0]]]'
"""The replies of a match as no game asks for them."""


@pytest.mark.parametrize(("leave", "replies"), [(False, OTHER_RULES), (True, OTHER_RULES), (False, "[1]")])
def test_a_match_of_other_rules_does_not_stay_for_ever(world: World, leave: bool, replies: str) -> None:
    ada, bob, table_id = pair(world)
    answer(world, bob, table_id, 1, LOW)
    with world.db.transaction() as session:
        session.exec(update(GameTable).values(replies=replies))
    if leave:
        for person in (ada, bob):
            world.write(turns.resign, person, table_id, SeatKind.AGENT)
    assert watched(world, PACE + 45) == []
    row = world.row(GameTable, table_id)
    assert (row.state, row.ranks, row.cause) == (TableState.ABANDONED, None, Cause.UNKNOWN)


def test_a_bots_match_of_other_rules_begins_again_for_a_person_and_ends_for_an_agent(world: World) -> None:
    person, job = asked(world)
    world.write(turns.answer, person, job.table_id, 1, HIGH)
    _, agents = against_bot(world)
    with world.db.transaction() as session:
        session.exec(update(GameTable).values(replies=OTHER_RULES, state=TableState.QUEUED, lease_until=None))
    again = world.write(programs.claim_table, job.table_id, "w2", world.host)
    assert again is not None and again.replies == []
    assert world.write(programs.exchange, again, 0, {1: Reply("OK", 5)}) is not None
    assert world.write(programs.exchange, again, 1, {1: Reply(LOW, 5)}) == [], "the person is asked again"
    assert world.write(programs.claim_table, agents.table_id, "w2", world.host) is None
    assert world.row(GameTable, agents.table_id).state is TableState.ABANDONED


def test_who_leaves_an_open_table_leaves_it_to_the_others(world: World) -> None:
    ada, eve = world.author(), world.author()
    table_id = sit(world, ada, "me", "open", "open", game=next(name for name in GAMES if 3 in GAMES[name].seats))
    world.write(sitting.join_table, eve, table_id, AGENT)
    world.write(turns.resign, eve, table_id, SeatKind.AGENT)
    info = world.read(viewing.table_info, table_id)
    assert (info.state, [player.user_id for player in info.players]) == (TableState.OPEN, [ada.id, None, None])
    world.write(sitting.join_table, eve, table_id, AGENT)
    world.write(sitting.join_table, world.author(), table_id, AGENT)
    assert world.read(viewing.table_info, table_id).state is TableState.RUNNING


@pytest.mark.databases
def test_reporting_waits_for_no_answer_that_is_being_stored(world: World) -> None:
    first, second = (last(world)[1] for _ in range(2))
    world.clock.turn(1)
    if world.db.engine.dialect.name == "postgresql":
        with world.db.transaction() as storing:
            turns.at_table(storing, first, locked=True)
            world.write(turns.report)
        assert world.row(GameTable, first).watched_at == world.clock.now - timedelta(seconds=1)
        assert world.row(GameTable, second).watched_at == world.clock.now
    world.write(turns.report)
    assert {world.row(GameTable, one).watched_at for one in (first, second)} == {world.clock.now}
