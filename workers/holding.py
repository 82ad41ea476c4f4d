"""Shared tools of workers that hold a job of any kind.

Theory of operation
-------------------
`take` claims a job. A worker holds no database connection while it works. Between two steps, when no bot's clock runs,
its `Heartbeat` renews the lease, and ends the work if the lease is lost (`LeaseLost`) or this process must stop
(`stopping.Stopping`). Any other error is a failure of the service: `failure_of` classifies and reports it. Results are
written with `insist`, which outlasts an unavailable database.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError, SQLAlchemyError
from sqlmodel import Session

from deadheat.engine.core import TransportError
from deadheat.league.causes import Cause, Trait
from deadheat.league.config import HEARTBEAT_SECONDS
from deadheat.league.errors import BlobsAway
from deadheat.league.jobs import Failure, Job
from deadheat.league.service.ground.life import Life
from deadheat.league.storage.schema import hold_schema
from deadheat.workers import metrics, stopping

if TYPE_CHECKING:
    from deadheat.workers.context import Context

log = logging.getLogger(__name__)

MAX_DETAIL = 500

AWAY = (OperationalError, InternalError, InterfaceError)
"""The driver's errors if the database cannot be reached, is shutting down or accepts no changes."""

INSIST_SECONDS = 120
"""How long a worker keeps its report for an unavailable database. After that, the work is done again. Nobody
can have received the report before, because that also takes the database."""

RETRY_SECONDS = 1.0
"""The pause between two attempts to reach an unavailable database."""

Told = TypeVar("Told")
Claimed = TypeVar("Claimed", bound=Job)


class LeaseLost(Exception):
    """Another worker has our job: any further result would be discarded."""


class LeagueAway(Exception):
    """The league does not answer a machine that reaches it over HTTP. This may pass."""


UNREACHABLE = (SQLAlchemyError, LeagueAway)
"""The errors of a link to the league (`workers.link`) that may pass."""


def take(context: Context, life: Life, claim: Callable[[Session], Claimed | None]) -> Claimed | None:
    """Claim a job of that kind and record how long it waited. None: there is none for this worker."""
    with context.database.transaction() as session:
        job = claim(session)
    if job is not None:
        metrics.queue_wait_seconds.labels(life.queue).observe(job.waited_seconds)
    return job


def failure_of(life: Life, what: str, error: Exception) -> Failure:
    """Count and log an exception that ended our work on `what`, a job of that kind; return its line for the ledger."""
    if isinstance(error, stopping.Stopping):
        log.info("%s is handed back: this worker stops", what)
        return Failure(Cause.WORKER_STOPPED, "its worker was stopped")
    cause, detail = cause_of(error), (error.why if isinstance(error, BlobsAway) else str(error))[:MAX_DETAIL]
    metrics.task_failures.labels(life.queue, cause).inc()
    if not isinstance(error, TransportError):
        # Log a traceback only for what may be our own mistake, and not for a full store.
        log.error("%s failed: %s: %s", what, cause, detail, exc_info=None if isinstance(error, BlobsAway) else error)
        return Failure(cause, detail)
    broken = Trait.MACHINE in Cause(cause).traits
    log.log(logging.ERROR if broken else logging.WARNING, "%s failed: %s: %s", what, cause, detail)
    return Failure(cause, detail, dict(error.evidence))


def cause_of(error: Exception) -> str:
    """Return the ledger's word for our failure."""
    if isinstance(error, TransportError):
        return error.cause
    if isinstance(error, BlobsAway):
        return Cause.BLOBS_AWAY
    return Cause.DATABASE_AWAY if isinstance(error, (*AWAY, LeagueAway)) else type(error).__name__


def turned_away(context: Context, what: str, turn: Callable[[Session], bool]) -> bool:
    """Say whether the job waits for a fit machine because this one is not; `turn` asks the database."""
    with context.database.transaction() as session:
        turned = turn(session)
    if turned:
        metrics.turned_away.inc()
        log.info("%s is left to another machine because this one may not judge", what)
    return turned


def insist(context: Context, act: Callable[[Session], Told]) -> Told:
    """Run `act` in a transaction, and retry for a while if the database is unavailable. This is harmless if
    only the answer to a commit was lost, because each report names our attempt. Raises WrongSchema if the
    league was upgraded meanwhile: the lease runs out, and the new version does the work again.
    """
    give_up_at = time.monotonic() + INSIST_SECONDS
    while True:
        try:
            with context.database.transaction() as session:
                hold_schema(session)
                return act(session)
        except AWAY as error:
            if time.monotonic() > give_up_at:
                raise
            log.warning("the database is away, trying again: %s", error)
            time.sleep(RETRY_SECONDS)


class Heartbeat:
    """Renews a lease when it is due; called when no bot's clock runs, and now and then during a long exchange."""

    def __init__(self, renew: Callable[[], bool]) -> None:
        """`renew` prolongs the lease, and returns False if it is lost."""
        self._renew = renew
        self._due_at = time.monotonic() + HEARTBEAT_SECONDS

    @classmethod
    def of(cls, context: Context, renew: Callable[[Session], bool]) -> Self:
        """Return the heartbeat of a lease that `renew` prolongs in the database."""

        def renewed() -> bool:
            with context.database.transaction() as session:
                return renew(session)

        return cls(renewed)

    def __call__(self) -> None:
        """Extend the lease. Raises LeaseLost if the work is no longer ours, and Stopping if it must be handed back."""
        stopping.look()
        self.renew()

    def renew(self) -> None:
        """Renew the lease. Raises LeaseLost."""
        if time.monotonic() < self._due_at:
            return
        try:
            if not self._renew():
                raise LeaseLost
        except UNREACHABLE as error:  # while the lease lasts, the database may come back
            log.warning("the lease could not be renewed, trying again: %s", error)
            self._due_at = time.monotonic() + RETRY_SECONDS
            return
        self._due_at = time.monotonic() + HEARTBEAT_SECONDS
