"""The life of a job: waiting, held by a worker, given back or ended.

Theory of operation
-------------------
A build, a series and a person's match are carried out by workers in the same way. Each is a row with a state, an
`attempt`, a lease, and the instant at which to notify a worker of it (`nudge_at`). The queue's messages may be lost,
duplicated or late; nothing here trusts them.

* `claim` turns the row from waiting into held by compare-and-set, raises `attempt` and takes a lease. A second delivery
  of the message finds the row held, and gets nothing.
* The worker renews the lease while it works. When it dies, the sweep (`league.service.jobs.sweep`) finds the lease
  expired and gives the row back; the next claim has a higher attempt.
* Everything else that a worker reports names its attempt, and changes the row only while that attempt holds it:
  `change`, `end` and `give_back`. A worker that was paused and comes late changes nothing.
* A row that was given back waits for a pause that doubles with each failure of the service (`pause`). A job handed back
  because its worker stops is no failure, does not wait, and keeps its place in the queue.

Each kind of job has one `Life`, which declares its differences. Its module says what the job is and how it ends;
`league.service.jobs.sweep` lists them all.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Update, bindparam
from sqlmodel import Session, col, func, select, update
from sqlmodel.sql.expression import Select, SelectOfScalar

from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Failure
from deadheat.league.service.ground.steps import (
    evidence_json,
    move,
    set_values,
    storable,
    storable_word,
    update_rows,
    updating,
)
from deadheat.league.states import allowed
from deadheat.league.tables import Attempt, JobRow, UtcDateTime

Job = TypeVar("Job")

SWEEP_LIMIT = 500
"""The most rows of a kind that one sweep takes, to keep its transaction short; the next sweep follows in seconds."""

MOST_RACES = 20
"""How often a claim tries again when other workers were faster, before it leaves the rest to them."""

MOST_DOUBLINGS = 20
"""A limit of the doublings of a pause, far above what any longest pause needs."""


NO_WORKER_UNTIL = datetime.fromisoformat("9000-01-01T00:00:00+00:00")
"""The lease of what is played without a worker: no sweep takes it back, and it keeps no machine busy."""


@dataclass(frozen=True, slots=True)
class Life:
    """The life of the jobs of one kind. `queue` names the kind to operators, and `longest_pause` limits the time
    between two attempts at a job that keeps failing. `counted`: other states whose rows are counted for operators.
    `takes_slot`: a held job has a slot of its machine to itself; kinds for which this is false have their own
    processes.
    """

    queue: str
    table: type[JobRow]
    waiting: StrEnum
    held: StrEnum
    longest_pause: timedelta
    counted: tuple[StrEnum, ...] = ()
    takes_slot: bool = True

    def claiming(self, *conditions: ColumnElement[bool]) -> Update:
        """Build the statement by which `claim` takes a row that meets the conditions. Callers keep it."""
        waits = updating(self.table, "id", "state").where(*conditions)
        return waits.values(attempt=self.table.attempt + 1)

    def claim(self, session: Session, claiming: Update, row_id: int, worker: str, **values: object) -> bool:
        """Give a waiting row to a worker. Return False if it does not exist, does not wait or meet the conditions, or
        another worker was faster. `values` are those of further columns, and the parameters of the conditions.
        """
        assert allowed(self.waiting, self.held)
        waits = {"id": row_id, "state": self.waiting}
        claimed = {"state": self.held, "worker": worker, "lease_until": _lease_until(session)}
        return update_rows(session, claiming, waits, **claimed, **values) == 1

    def change(
        self, session: Session, row_id: int, attempt: int, *conditions: ColumnElement[bool], **values: object
    ) -> bool:
        """Set values while the attempt holds the row. Return False if the row is lost; nothing was changed then."""
        claimed = {"id": row_id, "attempt": attempt, "state": self.held}
        return set_values(session, self.table, *conditions, where=claimed, **values) == 1

    def renew(self, session: Session, /, row_id: int, attempt: int, **values: object) -> bool:
        """Prolong the lease. Return False if it is lost and the worker should stop."""
        return self.change(session, row_id, attempt, lease_until=_lease_until(session), **values)

    def end(self, session: Session, row_id: int, attempt: int, after: StrEnum, **values: object) -> bool:
        """Move the row on from its attempt. Return False, without changes, if it is too late."""
        mine = {"attempt": attempt}
        return move(session, self.table, row_id, self.held, after, where=mine, lease_until=None, **values)

    def give_back(self, session: Session, row_id: int, attempt: int, failures: int, /, **values: object) -> bool:
        """Let the row wait again, for a pause that depends on the number of our failures so far, including this one.
        Return False if it is too late; nothing was changed then. Callers give a job that was handed back its old
        `queued_at`, so that it keeps its place.
        """
        at = now(session)
        again = {"worker": None, "queued_at": at, "nudge_at": at + self.pause(session, failures)}
        return self.end(session, row_id, attempt, self.waiting, **again | values)

    def pause(self, session: Session, failures: int) -> timedelta:
        """Return how long a job waits after that many failures; 0 after none."""
        if failures == 0:
            return timedelta(0)
        doubled: int = 2 ** min(failures - 1, MOST_DOUBLINGS)
        return min(timedelta(seconds=settings_of(session).retry_seconds) * doubled, self.longest_pause)

    def has_worker(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """Return the conditions of rows that a worker holds."""
        return col(self.table.state) == self.held, col(self.table.lease_until) < NO_WORKER_UNTIL

    def lost(self, at: ColumnElement[datetime]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """Return expressions for whether any row is due to be enqueued and any lease has expired; NULL means no."""
        # If asked whether a row with an earlier date exists, PostgreSQL reads the whole table once it plans for any
        # date: it expects a third of all rows to be due.
        due, expired = self._first("nudge_at", self.waiting), self._first("lease_until", self.held)
        return due <= at, expired < at

    def _first(self, date: str, state: StrEnum) -> ColumnElement[datetime]:
        """Return the earliest date of the rows in a state."""
        dated = col(getattr(self.table, date))
        return select(dated).where(col(self.table.state) == state).order_by(dated).limit(1).scalar_subquery()

    def expired(self, session: Session) -> list[tuple[int, int, str | None]]:
        """Return the id, attempt and worker of rows with an expired lease, as many as one sweep takes."""
        return list(session.exec(_expired(self), params={"at": now(session)}))

    def due(self, session: Session) -> list[int]:
        """Return the rows to be enqueued now, as many as one sweep takes. Each is due again after a while."""
        at, settings = now(session), settings_of(session)
        ids = list(session.exec(_due(self), params={"at": at}))
        if ids:
            # This may also change a row that was claimed just now: giving it back sets the date again. (With a
            # condition on the state, SQLite reads all waiting rows instead of these.)
            again = at + timedelta(seconds=settings.requeue_seconds)
            session.connection().execute(_again(self), {"ids": ids, "again": again})
        return ids

    def claim_next(
        self,
        session: Session,
        nudged_id: int,
        next_id: Callable[[Session], int | None],
        claim: Callable[[int], Job | None],
    ) -> Job | None:
        """Claim the next job on receipt of a message about `nudged_id`, or return None if this worker may take nothing.
        A job at which we failed before is claimed only by its own message, because that is sent when its pause is over.
        """
        if session.exec(_tried_before(self), params={"id": nudged_id}).first() is not None:
            return claim(nudged_id)
        tried: set[int] = set()
        while len(tried) < MOST_RACES:
            row_id = next_id(session)
            if row_id is None or row_id in tried:  # nothing waits, or this worker may not take it
                return None
            if (job := claim(row_id)) is not None:
                return job
            tried.add(row_id)
        return None


# Frequent statements are built once for each kind: building one takes longer than executing it.


@cache
def _expired(life: Life) -> Select[int, int, Any]:  # the worker: str or None
    table, at = life.table, bindparam("at", type_=UtcDateTime)
    leased = select(table.id, table.attempt, table.worker).where(col(table.state) == life.held)
    return leased.where(col(table.lease_until) < at).order_by(col(table.lease_until)).limit(SWEEP_LIMIT)


@cache
def _due(life: Life) -> SelectOfScalar[int]:
    table, at = life.table, bindparam("at", type_=UtcDateTime)
    waiting = select(table.id).where(col(table.state) == life.waiting, col(table.nudge_at) <= at)
    return waiting.order_by(col(table.nudge_at)).limit(SWEEP_LIMIT)


@cache
def _again(life: Life) -> Update:
    these = col(life.table.id).in_(bindparam("ids", expanding=True))
    return update(life.table).where(these).values(nudge_at=bindparam("again", type_=UtcDateTime))


@cache
def _tried_before(life: Life) -> SelectOfScalar[int]:
    table = life.table
    waiting = select(table.id).where(col(table.id) == bindparam("id"), col(table.state) == life.waiting)
    return waiting.where(col(table.attempt) > 0)


def _lease_until(session: Session) -> datetime:
    return now(session) + timedelta(seconds=settings_of(session).lease_seconds)


def note(session: Session, attempt: int, failure: Failure, at: datetime, **about: Any) -> None:
    """Add a line to the ledger about an attempt that failed as a whole, with the reason."""
    line = Attempt(
        attempt=attempt,
        cause=storable_word(failure.cause),
        detail=storable(failure.detail),
        evidence=evidence_json(failure.evidence),
        finished_at=at,
        **about,
    )
    session.add(line)


def failures_before(session: Session, *which: ColumnElement[bool]) -> Counter[Cause]:
    """Count failed attempts by cause in the chosen lines of the ledger, without attempts handed back."""
    counted = select(Attempt.cause, func.count()).where(*which).group_by(col(Attempt.cause))
    causes: Counter[Cause] = Counter()
    for word, count in session.exec(counted):
        causes[Cause(word)] += count
    del causes[Cause.WORKER_STOPPED]
    return causes
