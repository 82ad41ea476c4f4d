"""What a worker and a person do at a table, step by step."""

import json
from dataclasses import dataclass

from sqlmodel import Session, col, update

from deadheat.engine.core import Fault, Reply
from deadheat.engine.transcript import decode_reply
from deadheat.league.service.tables.programs import TABLES, TableJob, exchange, heard
from deadheat.league.service.tables.turns import at_table, attend, go_on, put, report, watch
from deadheat.league.states import SeatKind
from deadheat.league.tables import GameTable
from tests.league.world import World


@dataclass(frozen=True)
class Heard:
    """The state of the person's seat: an answer to the present step, and whether they have left, or were late."""

    answer: str | None
    resigned: bool
    late: bool


def watched(session: Session) -> list[int]:
    """Watch all tables as the site does, and return the matches to be recorded."""
    report(session)
    return [table_id for table_id in watch(session) if attend(session, table_id)]


def ask(world: World, job: TableJob, *replies: dict[int, Reply]) -> bool:
    """Let a worker come as far as these replies, which the person gives along with the programs, so that the person is
    asked. Return whether the worker still holds the match.
    """
    for number, given in enumerate(replies):
        ours = {seat: reply for seat, reply in given.items() if seat in job.programs}
        so_far = world.write(exchange, job, number, ours)
        if so_far is None:
            return False
        if not so_far:
            world.write(_answer, job, given)
    return world.write(exchange, job, len(replies), {}) is not None


def _answer(session: Session, job: TableJob, given: dict[int, Reply]) -> None:
    table = at_table(session, job.table_id)
    for seat in given.keys() - job.programs.keys():
        put(table.seats[seat], given[seat])
    go_on(session, table)


def hear(world: World, job: TableJob) -> Heard | None:
    """Return the state of the person's seat, or None if the worker no longer holds the match."""
    world.write(watched)
    if world.read(heard, job, 0) is None:
        return None
    table = world.read(at_table, job.table_id)
    (seat,) = (seat for seat in table.seats.values() if seat.kind is SeatKind.PERSON)
    reply = Reply(None, 0) if seat.reply is None else decode_reply(json.loads(seat.reply))[1]
    return Heard(reply.line, seat.resigned, reply.fault is Fault.TIMEOUT)


def wait(world: World, job: TableJob, seconds: float) -> None:
    """Let time pass while the site is there and the worker renews its lease."""
    while seconds:
        step = min(seconds, world.settings.lease_seconds / 2)
        world.clock.turn(step)
        with world.db.transaction() as session:
            session.exec(update(GameTable).where(col(GameTable.id) == job.table_id).values(watched_at=world.clock.now))
        assert world.write(TABLES.renew, job.table_id, job.attempt)
        seconds -= step
