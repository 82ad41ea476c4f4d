"""The programs of a table on their way through a worker: claimed, played, finished once, or given back.

It has the life of any job (`league.service.ground.life`). The answers of people and agents stay in the row: a new
attempt begins with the same dice and gives the same answers as long as the programs play as before, including answers
to the present step.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from sqlalchemy import Update, bindparam
from sqlmodel import Session, col, select

from deadheat.engine.core import Reply, Seat
from deadheat.engine.games.folder import Identity
from deadheat.engine.unfinished import Replies, said
from deadheat.league.causes import BLAMELESS, Cause
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Failure, Host, Job, ProgramRef
from deadheat.league.records import from_row
from deadheat.league.service.ground.life import Life
from deadheat.league.service.ground.steps import set_values, storable_word
from deadheat.league.service.series.carrying_out import programs_of
from deadheat.league.service.series.games import games_here, same_as
from deadheat.league.service.series.hosts import blame_host, may_judge, told_of
from deadheat.league.service.tables import rated
from deadheat.league.service.tables.places import NOT_ASKED, abandon, lock_places, may_begin
from deadheat.league.service.tables.turns import (
    AtTable,
    about,
    allow_for_absence,
    at_table,
    go_back,
    go_on,
    put,
    replies_of,
    stamps,
    start_again,
    with_seats,
)
from deadheat.league.states import SeatKind, TableState
from deadheat.league.tables import GameTable, TableSeat

log = logging.getLogger(__name__)

TABLES = Life(
    "exhibition",
    GameTable,
    TableState.QUEUED,
    TableState.RUNNING,
    longest_pause=timedelta(seconds=20),
    takes_slot=False,
)
"""People wait for the next attempt, but they are few. A slot is taken only for each exchange of the programs."""


@dataclass(frozen=True, slots=True)
class TableJob(Job):
    """The programs of a table, by seat. `replies`: those of all seats to the steps that are over. `about`: the labels
    of the record.
    """

    table_id: int
    attempt: int
    game: str
    seats: int
    seed: bytes
    programs: Mapping[Seat, ProgramRef]
    about: Mapping[str, object]
    replies: Replies = ()
    variant: Sequence[str] | None = None  # of the game, see `league.terms`
    season_id: int | None = None


def claim_next_table(session: Session, nudged_id: int, worker: str, host: Host) -> TableJob | None:
    """Claim the match that has waited longest, if a place is free, or one that kept its place. Return None for none."""
    return TABLES.claim_next(
        session, nudged_id, _next_in_line, lambda chosen: claim_table(session, chosen, worker, host)
    )


def _next_in_line(session: Session) -> int | None:
    return next(iter(may_begin(session, lock_places(session))), None)


def claim_table(session: Session, table_id: int, worker: str, host: Host) -> TableJob | None:
    """Claim a waiting match. Return None if it does not wait, or this machine may not take it."""
    lock_places(session)  # an agent's table may have to be abandoned
    at = now(session)
    claiming = _claiming(games_here(), settings_of(session).judge_unfit)
    if not TABLES.claim(session, claiming, table_id, worker, **told_of(session, host)):
        return None
    table = at_table(session, table_id)
    row = table.row
    # A person's time does not include the time for which the match waited for another worker.
    allow_for_absence(table, row.queued_at)
    row.started_at = at if row.started_at is None else row.started_at + (at - row.queued_at)
    row.watched_at = at
    try:
        table.match()
    except ValueError:  # the rules have changed since
        if _has_agent(table):
            log.error("table %d is abandoned: it was played by rules that differ from ours", table_id)
            abandon(session, table_id, TableState.RUNNING, Cause.UNKNOWN)
            return None
        start_again(table)
    session.flush()
    versions = {seat.seat: seat.version_id for seat in table.seats.values() if seat.version_id is not None}
    refs = programs_of(session, {*versions.values()})
    return from_row(
        TableJob,
        row,
        table_id=row.id,
        programs={seat: refs[version_id] for seat, version_id in versions.items()},
        about=about(session, table, refs),
        replies=table.replies,
        waited_seconds=(at - row.queued_at).total_seconds(),
    )


def _has_agent(table: AtTable) -> bool:
    """Say whether an agent sits there. It is a program that has heard what it was told, and is not told otherwise."""
    return any(seat.kind is SeatKind.AGENT for seat in table.seats.values())


@cache
def _claiming(games: tuple[Identity, ...], judge_unfit: bool) -> Update:
    return TABLES.claiming(may_judge(judge_unfit), col(GameTable.game).in_(same_as(games)))


def exchange(session: Session, job: TableJob, number: int, replies: Mapping[Seat, Reply]) -> Replies | None:
    """Store what the programs have answered to step `number`, and return the replies of all seats to it and the
    following ones, as far as they are complete. Return None if the worker no longer holds the match.

    The step may be over, because an earlier attempt was there. If the programs have answered differently this time,
    the match goes on from here, or is abandoned for our failure if agents have heard the rest. Repeating the call is
    harmless.
    """
    if job.attempt > 1 or heard(session, job, number):  # told already, so the table may have to be abandoned
        lock_places(session)
    row = session.exec(HELD_LOCKED, params={"id": job.table_id, "attempt": job.attempt}).first()
    if row is None:
        return None
    table = with_seats(session, row)
    if number < len(table.replies):
        given = table.replies[number]
        if said([{**given, **replies}]) != said([given]):
            if _has_agent(table):
                log.error("exhibition %d is abandoned: its programs answer differently after our failure", row.id)
                abandon(session, row.id, TableState.RUNNING, storable_word(row.cause or Cause.WORKER_STOPPED))
                return None
            go_back(session, table, number, replies)
        return table.replies[number:]
    for seat, reply in replies.items():
        put(table.seats[seat], reply)
    go_on(session, table)
    return table.replies[number:]


def heard(session: Session, job: TableJob, number: int) -> Replies | None:
    """Return what `exchange` returned, as far as it has come since. Return None if the match is lost."""
    row = session.exec(HELD, params={"id": job.table_id, "attempt": job.attempt}).first()
    return None if row is None else replies_of(row)[number:]


HELD = (
    select(GameTable)
    .where(col(GameTable.id) == bindparam("id"), col(GameTable.attempt) == bindparam("attempt"))
    .where(GameTable.state == TABLES.held)
    .execution_options(populate_existing=True)
)
HELD_LOCKED = HELD.with_for_update()


def stamped(session: Session, job: TableJob) -> Mapping[str, object]:
    """Return the labels of the record of a match that is over."""
    return {**job.about, **stamps(at_table(session, job.table_id))}


def note_wait(session: Session, job: TableJob, waits: bool) -> bool:
    """Note whether the programs wait for a slot. Return False if the worker no longer holds the match."""
    since = now(session) if waits else None
    return TABLES.change(session, job.table_id, job.attempt, waits_since_at=since)


def note_void(session: Session, job: TableJob, failure: Failure) -> bool:
    """Note that the service failed at an attempt, and tell the person; the next attempt asks again. Return False if
    there is none, because the worker no longer holds the match, or this attempt was the last (`give_back_table` counts
    that).
    """
    again = col(GameTable.failures) + 1 < settings_of(session).match_attempts
    counted = {"voids": GameTable.voids + 1, "failures": GameTable.failures + 1}
    noted = TABLES.change(session, job.table_id, job.attempt, again, cause=storable_word(failure.cause), **counted)
    if noted:
        _ask_nobody(session, job.table_id)
        row = session.get_one(GameTable, job.table_id)
        rated.void(session, row, failure, row.worker)
    return noted


def _ask_nobody(session: Session, table_id: int) -> None:
    """Stop everybody's clock until a worker is at the present step again."""
    set_values(session, TableSeat, where={"table_id": table_id}, **NOT_ASKED)


def give_back_table(
    session: Session,
    table_id: int,
    attempt: int,
    worker: str | None,
    failure: Failure,
    host: Host | None = None,
    *,
    void: bool = False,
) -> bool:
    """Return the match to the queue for another attempt after a pause, or abandon it after as many failures as a match
    of bots, or after too long. Return False if it is too late; nothing was changed then. A clean hand-back is no
    failure: the answers are given again.

    `void`: it had begun, so people waited in vain, and the failure counts whatever its cause. `host`: the machine
    where it failed, which may be to blame (`blame_host`).
    """
    if host is not None:
        blame_host(session, host, failure.cause, failure.detail)
    facts: dict[str, object] = {"waits_since_at": None}
    pauses = 0
    if failure.cause != Cause.WORKER_STOPPED:
        held = session.exec(HELD, params={"id": table_id, "attempt": attempt}).first()
        if held is None:
            return False
        settings, cause = settings_of(session), storable_word(failure.cause)
        failures = held.failures + (void or failure.cause not in BLAMELESS)
        until = held.created_at + timedelta(seconds=settings.exhibition_seconds)
        late = held.match_id is None and now(session) > until
        if late or failures >= settings.match_attempts:
            mine = col(GameTable.attempt) == attempt
            log.error("exhibition %d is abandoned after %d attempts: %s", table_id, attempt, cause)
            return abandon(session, table_id, TableState.RUNNING, cause, mine)
        facts |= {"failures": failures, "voids": GameTable.voids + 1, "cause": cause}
        rated.void(session, held, failure, worker)
        pauses = max(1, failures)
    given_back = TABLES.give_back(session, table_id, attempt, pauses, **facts)
    if given_back:
        _ask_nobody(session, table_id)
    return given_back
