"""What a worker needs while it holds a job of any kind.

Theory of operation
-------------------
A worker holds no database connection while it works. Between two steps, when no bot's clock runs, its `Heartbeat`
renews the lease, and ends the work if the lease is lost (`LeaseLost`) or this process must stop
(`stopping.Stopping`). Any other error is a failure of ours: `failure_of` names its cause and informs operators. Results
are written with `insist`, which outlasts an unavailable database.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError, SQLAlchemyError
from sqlmodel import Session

from engine.core import TransportError
from league.causes import Cause, Trait
from league.config import HEARTBEAT_SECONDS
from league.errors import BlobsAway
from league.jobs import Failure
from league.service.ground.life import Life
from league.storage.schema import hold_schema
from workers import metrics, stopping
from workers.context import Context

log = logging.getLogger(__name__)

MAX_DETAIL = 500

AWAY = (OperationalError, InternalError, InterfaceError)
"""What the driver raises where the database cannot be reached, is ending or takes no changes."""

INSIST_SECONDS = 120
"""How long a worker holds what it has to say to a database that is away. What it has played is then played again; but
nobody can have been given it meanwhile, for that too takes the database."""

RETRY_SECONDS = 1.0
"""Between two tries to reach a database that is away."""

Told = TypeVar("Told")


class LeaseLost(Exception):
    """Somebody else has our job: any further result would be discarded."""


def failure_of(life: Life, what: str, error: Exception) -> Failure:
    """What the ledger says of an exception that ended our work on `what`, a job of that kind; counted and logged."""
    if isinstance(error, stopping.Stopping):
        log.info("%s is handed back: this worker stops", what)
        return Failure(Cause.WORKER_STOPPED, "its worker was stopped")
    cause, detail = cause_of(error), detail_of(error)
    metrics.task_failures.labels(life.queue, cause).inc()
    if not isinstance(error, TransportError):
        # Where from is told only if it may be a mistake, and not of a store that is full.
        log.error("%s failed: %s: %s", what, cause, detail, exc_info=None if isinstance(error, BlobsAway) else error)
        return Failure(cause, detail)
    broken = Trait.MACHINE in Cause(cause).traits
    log.log(logging.ERROR if broken else logging.WARNING, "%s failed: %s: %s", what, cause, detail)
    return Failure(cause, detail, dict(error.evidence))


def detail_of(error: Exception) -> str:
    """What was said of a failure, for those who may do something about it."""
    return (error.why if isinstance(error, BlobsAway) else str(error))[:MAX_DETAIL]


def cause_of(error: Exception) -> str:
    """What the ledger calls our failure."""
    if isinstance(error, TransportError):
        return error.cause
    if isinstance(error, BlobsAway):
        return Cause.BLOBS_AWAY
    return Cause.DATABASE_AWAY if isinstance(error, AWAY) else type(error).__name__


def turned_away(context: Context, what: str, turn: Callable[[Session], bool]) -> bool:
    """Whether it waits for a machine that is fit to judge, as this one is not; `turn` asks the database."""
    with context.database.transaction() as session:
        turned = turn(session)
    if turned:
        metrics.turned_away.inc()
        log.info("%s is left to another machine because this one may not judge", what)
    return turned


def insist(context: Context, act: Callable[[Session], Told]) -> Told:
    """Do it in a transaction; again while the database is away, for a while. Harmless where a commit took place and
    only its answer was lost: whatever we say names our attempt. Raises WrongSchema where the league was upgraded
    meanwhile: the lease runs out, and it is done again by the new version.
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
    """Renews a lease when it is due; called where no bot's clock runs."""

    def __init__(self, context: Context, renew: Callable[[Session], bool]) -> None:
        self._context = context
        self._renew = renew
        self._due_at = time.monotonic() + HEARTBEAT_SECONDS

    def __call__(self) -> None:
        """Raises LeaseLost when the work is not ours any more, and Stopping when it is to be handed back."""
        stopping.look()
        self.renew()

    def renew(self) -> None:
        """Raises LeaseLost."""
        if time.monotonic() < self._due_at:
            return
        try:
            with self._context.database.transaction() as session:
                if not self._renew(session):
                    raise LeaseLost
        except SQLAlchemyError as error:  # as long as the lease lasts, the database may come back
            log.warning("the lease could not be renewed, trying again: %s", error)
            self._due_at = time.monotonic() + RETRY_SECONDS
            return
        self._due_at = time.monotonic() + HEARTBEAT_SECONDS
