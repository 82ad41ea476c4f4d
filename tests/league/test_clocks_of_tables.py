"""Whose time it is at a table: time that is ours convicts nobody, and who is late does not gain."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import Session, col, select, update

from deadheat.api.edge import arrival
from deadheat.engine.core import Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.league.causes import Cause
from deadheat.league.errors import WrongState
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.tables import places, programs, queueing, sitting, turns, viewing
from deadheat.league.states import SeatKind, TableState
from deadheat.league.tables import GameTable, TableSeat
from tests.league import tabled
from tests.league.people import GAME
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


def test_tables_at_which_nothing_happens_keep_no_late_one_from_being_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "WATCHED", turns.WATCHED.limit(1))
    waiting, (ada, table_id) = [last(world)[1] for _ in range(3)], last(world)
    with world.db.transaction() as session:
        session.exec(update(GameTable).where(col(GameTable.id).in_(waiting)).values(pace_seconds=1e6))
    assert watched(world, PACE + GRACE + 2) == [table_id]
    assert refused(world, ada, table_id, 1, LOW) == "stale"


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
    assert (
        not world.write(programs.TABLES.renew, job.table_id, job.attempt)
        and world.row(GameTable, job.table_id).open_place is None
    )


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


def test_an_answer_that_waited_for_us_is_not_late(world: World) -> None:
    ada, table_id = last(world)
    watched(world, PACE + 2)
    asked_for: list[float] = []

    def ours(since: timedelta, away: turns.Absences) -> timedelta:
        assert away == []
        asked_for.append(since.total_seconds())
        return timedelta(seconds=2.5)

    given = (ada, table_id, 1, LOW, SeatKind.AGENT, timedelta)
    world.refused(WrongState, turns.answer, *given, lambda *_: timedelta(seconds=1.5))
    receipt = world.write(turns.answer, *given, ours)
    assert asked_for == [PACE + 2], "since the question was delivered"
    assert receipt.received_at == receipt.recorded_at - timedelta(seconds=2.5)


@pytest.mark.parametrize(("thinks", "counts"), [(0.5, True), (10, False)])
def test_a_standstill_of_the_whole_site_is_given_once(
    world: World, monkeypatch: pytest.MonkeyPatch, thinks: float, counts: bool
) -> None:
    ada, table_id = last(world)
    clock = SimpleNamespace(monotonic=lambda: world.clock.now.timestamp())  # noqa: PLW0108 it moves
    monkeypatch.setattr(arrival, "time", clock)
    monkeypatch.setattr(arrival, "_standstills", [])
    monkeypatch.setattr(arrival, "_beats", [])
    watched(world, 10)
    began = world.clock.now.timestamp()
    world.clock.turn(2)  # this process alone stands still, and another one reports: nobody is given that time yet
    arrival._standstills.append((began, began + 2))
    world.write(tabled.watched)
    watched(world, PACE - 13)
    began = world.clock.now.timestamp()
    world.clock.turn(10)
    arrival._standstills.append((began, began + 10))
    world.write(tabled.watched)
    watched(world, 2)  # of its own, 1 s is left
    watched(world, thinks)
    arrived = arrival.Arrival()
    given = (ada, table_id, 1, LOW, SeatKind.AGENT, arrived.ago, arrived.ours)
    if counts:
        world.write(turns.answer, *given)
    else:
        assert "too late" in world.refused(WrongState, turns.answer, *given)


def test_a_match_of_a_game_that_was_removed_ends_without_a_result(world: World) -> None:
    ada, bob, table_id = pair(world)
    waiting = sit(world, ada, "me", "open")
    answer(world, bob, table_id, 1, LOW)
    with world.db.transaction() as session:
        session.exec(update(GameTable).values(game="removed"))
    assert refused(world, ada, table_id, 1, HIGH) == "stale" and fetch(world, ada, table_id).prompt is None
    assert watched(world, PACE + 45) == []
    assert world.row(GameTable, table_id).state is TableState.RUNNING, "another process may know the game"
    assert watched(world, turns.OPEN_FOR.total_seconds()) == []
    for one in (table_id, waiting):
        row = world.row(GameTable, one)
        assert (row.state, row.ranks, row.finished_at is not None) == (TableState.ABANDONED, None, True)
    assert [seat.fault for seat in world.rows(select(TableSeat))] == [None] * 4
    assert world.read(sitting.seats_of, ada) == world.read(sitting.seats_of, bob) == []


@pytest.mark.parametrize("leaves", [1, 2])
def test_who_leaves_a_match_of_a_removed_game_ends_it_no_sooner(world: World, leaves: int) -> None:
    *both, table_id = pair(world)
    with world.db.transaction() as session:
        session.exec(update(GameTable).values(game="removed"))
    for person in both[:leaves]:
        world.write(turns.resign, person, table_id, SeatKind.AGENT)
    watched(world, turns.OPEN_FOR.total_seconds() - 10)
    assert world.row(GameTable, table_id).state is TableState.RUNNING
    watched(world, 20)
    assert world.row(GameTable, table_id).state is TableState.ABANDONED


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


LOCKS = {
    "season": r"FROM season\b.* FOR NO KEY UPDATE|UPDATE season",
    "person": r"user_account.* FOR NO KEY UPDATE|UPDATE user_account",
    "places": rf"pg_advisory_xact_lock\({places.PLACES_LOCK}\)",
    "table": r"game_table.* FOR UPDATE|UPDATE game_table",
}


def locks(world: World, act: Callable[[Session], object]) -> list[str]:
    """Return what a transaction locks, in this order."""
    found: dict[str, None] = {}

    def note(*given: Any) -> None:
        found.update(dict.fromkeys(lock for lock, words in LOCKS.items() if re.search(words, given[2], re.DOTALL)))

    event.listen(world.write(Session.get_bind), "before_cursor_execute", note)
    try:
        world.write(act)
    finally:
        event.remove(world.write(Session.get_bind), "before_cursor_execute", note)
    return [*found]


@pytest.mark.databases
def test_the_order_of_locks_is_the_same_everywhere(world: World) -> None:
    if world.db.engine.dialect.name != "postgresql":
        return
    ada, bob, first = pair(world)
    second = sit(world, bob, "me", "open")
    _, job = against_bot(world)
    _, other = against_bot(world)
    assert locks(world, lambda session: sitting.join_table(session, ada, second, AGENT)) == ["person", "table"]
    assert locks(world, lambda session: turns.attend(session, first)) == ["places", "table"]
    close = partial(closing.close_account, person=ada)
    assert locks(world, close) == ["places", "season", "person", "table"]
    queued = partial(queueing.queue, person=world.author(), game=GAME, agent=AGENT)
    assert locks(world, queued) == ["places", "person", "table"]
    differs = {0: Reply("BID B 9", 7)}
    assert locks(world, lambda session: programs.exchange(session, job, 1, differs)) == ["places", "table"]
    assert world.row(GameTable, job.table_id).state is TableState.ABANDONED
    with world.db.transaction() as session:
        other_rules = {"replies": OTHER_RULES, "state": TableState.QUEUED, "lease_until": None, "attempt": 1}
        session.exec(update(GameTable).where(col(GameTable.id) == other.table_id).values(other_rules))
    claim = partial(programs.claim_next_table, nudged_id=other.table_id, worker="w2", host=world.host)
    assert locks(world, claim) == ["places", "table"]
    assert world.row(GameTable, other.table_id).state is TableState.ABANDONED
