"""Finds lost work: expired leases, and rows whose message never reached a worker.

Everything is derived from the database, so any loss is recovered: a worker, a message, the whole queue. One sweep is
bounded (`SWEEP_LIMIT`) and reads two indexes of each table; its cost does not grow with the backlog. Usually one
statement shows that there is nothing to do.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session

from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.jobs import Failure
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.exhibiting import EXHIBITIONS, give_up_waiting
from deadheat.league.service.jobs.kinds import KINDS, GiveBack
from deadheat.league.tables import UtcDateTime

log = logging.getLogger(__name__)


def sweep(session: Session) -> dict[Life, list[int]]:
    """Take back jobs with expired leases, and return by kind the rows to enqueue (again) after the commit. Repeated
    messages do no harm.
    """
    session.flush()
    found = session.connection().execute(_lost(), {"at": now(session)}).one()
    lost = {life: found[2 * place : 2 * place + 2] for place, life in enumerate(KINDS)}
    if any(lost[EXHIBITIONS]):
        give_up_waiting(session)
    return {life: _swept(session, life, give_back, *lost[life]) for life, give_back in KINDS.items()}


@cache
def _lost() -> Select[*tuple[Any, ...]]:
    """Return the statement for whether, at the instant `at`, rows of each kind wait to be enqueued, and leases have
    expired. (A person's match that nobody took in time counts as waiting.)
    """
    at = bindparam("at", type_=UtcDateTime)
    return columns(*(found for life in KINDS for found in life.lost(at)))


def _swept(session: Session, life: Life, give_back: GiveBack, due: bool, expired: bool) -> list[int]:
    """Take back the jobs of one kind that silent workers hold, and return the rows to enqueue."""
    for row_id, attempt, worker in life.expired(session) if expired else ():
        detail = f"worker {worker} did not renew its lease in time"
        if give_back(session, row_id, attempt, worker, Failure(Cause.LEASE_EXPIRED, detail)):
            log.warning("%s %d taken back: %s", life.queue, row_id, detail)
    return life.due(session) if due or expired else []
