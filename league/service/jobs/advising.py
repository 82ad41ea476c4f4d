"""Advice on a finished match of a person: requested, tried by a worker, stored once.

It is optional: nothing waits for it, and after `MOST_TRIES` it is given up. The row's `advise_at` says when to notify a
worker; while a worker is busy with it, that is a lease ahead. The sweep finds rows that are due.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlmodel import Session, col, select

from deadheat.engine.core import Seat
from deadheat.league.database import now
from deadheat.league.records import from_row
from deadheat.league.service.ground.steps import set_values
from deadheat.league.tables import Exhibition

MOST_TRIES = 3
LEASE = timedelta(minutes=5)
"""How long a worker may take before another one may try. A match takes seconds."""

TOLD_AT_ONCE = 4
"""How many matches a sweep enqueues: people finish few, and each is enqueued again until a worker takes it."""


@dataclass(frozen=True, slots=True)
class AdviceJob:
    """A person's match to be advised on; `seat` is the person's."""

    exhibition_id: int
    game: str
    seat: Seat
    transcript_sha256: str


def claim_advice(session: Session, exhibition_id: int) -> AdviceJob | None:
    """Claim a match to advise on. Return None if no advice is wanted, or another worker has it."""
    at = now(session)
    due = (col(Exhibition.advise_at) <= at, col(Exhibition.advice_tries) < MOST_TRIES)
    taken = {"advise_at": at + LEASE, "advice_tries": Exhibition.advice_tries + 1}
    if not set_values(session, Exhibition, col(Exhibition.id) == exhibition_id, *due, **taken):
        return None
    row = session.get_one(Exhibition, exhibition_id, populate_existing=True)
    return from_row(AdviceJob, row, exhibition_id=row.id)


def store_advice(session: Session, job: AdviceJob, sha256: str | None) -> None:
    """Store the advice; None if there can be none on this match. Two workers at a time would store the same."""
    values = {"advise_at": None, "advice_sha256": sha256}
    set_values(session, Exhibition, col(Exhibition.id) == job.exhibition_id, **values)


def due_advice(session: Session) -> list[int]:
    """Return the matches about which to notify a worker now."""
    due = (
        select(Exhibition.id)
        .where(col(Exhibition.advise_at) <= now(session), Exhibition.advice_tries < MOST_TRIES)
        .order_by(col(Exhibition.advise_at))
        .limit(TOLD_AT_ONCE)
    )
    return list(session.exec(due))


def is_wanted(row: Exhibition, session: Session) -> bool:
    """Say whether advice may still come."""
    return row.advise_at is not None and (row.advice_tries < MOST_TRIES or row.advise_at > now(session))
