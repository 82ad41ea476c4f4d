"""Advice on a finished match of a person: requested, tried by a worker, stored once.

It is optional: nothing waits for it, and after `MOST_TRIES` it is given up. The row's `advise_at` says when to notify
a worker; while a worker is busy with it, that is a lease ahead. The sweep finds rows that are due.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.engine.core import Seat
from deadheat.league.database import now
from deadheat.league.records import from_row
from deadheat.league.service.ground.steps import set_values
from deadheat.league.states import SeatKind
from deadheat.league.tables import GameTable, TableSeat, UtcDateTime

MOST_TRIES = 3
LEASE = timedelta(minutes=5)
"""How long a worker may take before another one may try. A match takes seconds."""

TOLD_AT_ONCE = 4
"""How many matches a sweep enqueues: people finish few, and each is enqueued again until a worker takes it."""


@dataclass(frozen=True, slots=True)
class AdviceJob:
    """A person's match to be advised on; `seat` is the person's."""

    table_id: int
    game: str
    seat: Seat
    transcript_sha256: str


def claim_advice(session: Session, table_id: int) -> AdviceJob | None:
    """Claim a match to advise on. Return None if no advice is wanted, or another worker has it."""
    at = now(session)
    due = (col(GameTable.advise_at) <= at, col(GameTable.advice_tries) < MOST_TRIES)
    taken = {"advise_at": at + LEASE, "advice_tries": GameTable.advice_tries + 1}
    if not set_values(session, GameTable, col(GameTable.id) == table_id, *due, **taken):
        return None
    row = session.get_one(GameTable, table_id, populate_existing=True)
    theirs = (TableSeat.table_id == table_id, TableSeat.kind == SeatKind.PERSON)
    seat = session.exec(select(TableSeat.seat).where(*theirs)).one()
    return from_row(AdviceJob, row, table_id=row.id, seat=seat)


def store_advice(session: Session, job: AdviceJob, sha256: str | None) -> None:
    """Store the advice; None if there can be none on this match. Two workers at a time would store the same."""
    values = {"advise_at": None, "advice_sha256": sha256}
    set_values(session, GameTable, col(GameTable.id) == job.table_id, **values)


def due_advice(session: Session) -> list[int]:
    """Return the matches about which to notify a worker now."""
    return list(session.exec(DUE_ADVICE, params={"at": now(session)}))


DUE_ADVICE = (
    select(GameTable.id)
    .where(col(GameTable.advise_at) <= bindparam("at", type_=UtcDateTime), GameTable.advice_tries < MOST_TRIES)
    .order_by(col(GameTable.advise_at))
    .limit(TOLD_AT_ONCE)
)
