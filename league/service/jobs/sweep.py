"""Finding lost work: leases that nobody renews, and rows whose message never reached anyone.

Everything is derived from the database, so it does not matter what was lost: a worker, a message, the whole queue.
One sweep is bounded (`SWEEP_LIMIT`) and asks two indexes of each table; its cost does not grow with the backlog. Mostly
there is nothing to do, and one statement says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from sqlalchemy import Select, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session

from league.causes import Cause
from league.database import now
from league.jobs import Failure
from league.service.ground.life import Life
from league.service.jobs.builds import BUILDS, give_back_build
from league.service.jobs.exhibiting import EXHIBITIONS, give_back_exhibition, give_up_waiting
from league.service.series.carrying_out import SERIES, give_back_series
from league.tables import UtcDateTime

log = logging.getLogger(__name__)

GiveBack = Callable[[Session, int, int, str | None, Failure], bool]


@dataclass(frozen=True, slots=True)
class Swept:
    """Rows that wait and must be enqueued (again)."""

    build_ids: list[int]
    series_ids: list[int]
    exhibition_ids: list[int]


def sweep(session: Session) -> Swept:
    """Take expired leases back and say what to enqueue, after the commit. Doubled messages harm nothing."""
    builds, series, exhibitions = session.execute(_lost(), {"at": now(session)}).one()
    if exhibitions:
        give_up_waiting(session)
    return Swept(
        build_ids=_swept(session, BUILDS, give_back_build) if builds else [],
        series_ids=_swept(session, SERIES, give_back_series) if series else [],
        exhibition_ids=_swept(session, EXHIBITIONS, give_back_exhibition) if exhibitions else [],
    )


@cache
def _lost() -> Select[bool, bool, bool]:
    """Of which kinds something waits to be enqueued, or lies under an expired lease, at the instant `at`. (Where nobody
    took a person's match for too long, its row is one that waits.)
    """
    at = bindparam("at", type_=UtcDateTime)
    return columns(BUILDS.lost(at), SERIES.lost(at), EXHIBITIONS.lost(at))


def _swept(session: Session, life: Life, give_back: GiveBack) -> list[int]:
    """Take back what silent workers hold of one kind; those that must be enqueued."""
    for row_id, attempt, worker in life.expired(session):
        detail = f"worker {worker} did not renew its lease in time"
        if give_back(session, row_id, attempt, worker, Failure(Cause.LEASE_EXPIRED, detail)):
            log.warning("%s %d taken back: %s", life.queue, row_id, detail)
    return life.due(session)
