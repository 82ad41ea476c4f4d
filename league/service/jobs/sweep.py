"""The kinds of job, and the sweep for lost work: expired leases, and rows whose message never reached a worker.

Everything is derived from the database, so any loss is recovered: a worker, a message, the whole queue. One sweep is
bounded (`SWEEP_LIMIT`) and reads two indexes of each table; its cost does not grow with the backlog. Usually one
statement shows that there is nothing to do.

While the database is away, workers take messages in vain, and a machine that could not report gets nothing at first. So
if most slots are idle beside series that were enqueued some seconds ago, their messages are lost, and are sent again.
(Between two series a slot is idle for a moment, but not most of them at once.)
"""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, func, update
from sqlalchemy import select as columns
from sqlmodel import Session, col

from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Failure
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.builds import BUILDS, give_back_build
from deadheat.league.service.series.carrying_out import SERIES, give_back_series
from deadheat.league.service.series.games import HOLDING_SEASONS
from deadheat.league.service.series.hosts import NO_HOST, slots_judging, told_of
from deadheat.league.service.tables.places import give_up_waiting
from deadheat.league.service.tables.programs import TABLES, give_back_table
from deadheat.league.tables import Series, UtcDateTime

GiveBack = Callable[[Session, int, int, str | None, Failure], bool]
"""Takes a row back from a worker's attempt because of that failure. Returns False, changing nothing, if it is too late.
"""

KINDS: Mapping[Life, GiveBack] = {
    BUILDS: give_back_build,
    SERIES: give_back_series,
    TABLES: give_back_table,
}
"""How a job of each kind is taken back from a silent worker."""


log = logging.getLogger(__name__)
Silent = list[tuple[Life, str]]


def sweep(session: Session, silent: Silent | None = None) -> dict[Life, list[int]]:
    """Take back jobs with expired leases, and return by kind the rows to enqueue (again) after the commit. Repeated
    messages do no harm. `silent` gets the kind of each job that is taken back, and the machine that had it.
    """
    session.flush()
    at, settings = now(session), settings_of(session)
    untaken_at = at + timedelta(seconds=settings.requeue_seconds - settings.retry_seconds / 2)
    dates = {**told_of(session, NO_HOST), "at": at, "untaken_at": untaken_at}
    *figures, idle = session.connection().execute(_lost(settings.judge_unfit), dates).one()
    lost = {life: figures[2 * place : 2 * place + 2] for place, life in enumerate(KINDS)}
    if any(lost[TABLES]):
        give_up_waiting(session)
    noted: Silent = [] if silent is None else silent
    if idle:
        lost[SERIES][0] |= session.connection().execute(UNTAKEN, {"untaken_at": untaken_at, "at": at}).rowcount > 0
    enqueued: dict[Life, list[int]] = {}
    for life, give_back in KINDS.items():
        is_due, has_expired = lost[life]
        for row_id, attempt, worker in sorted(life.expired(session)) if has_expired else ():
            detail = f"worker {worker} did not renew its lease in time"
            if give_back(session, row_id, attempt, worker, Failure(Cause.LEASE_EXPIRED, detail)):
                log.warning("%s %d taken back: %s", life.queue, row_id, detail)
                noted.append((life, (worker or "").rpartition(":")[0]))
        enqueued[life] = life.due(session) if is_due or has_expired else []
    return enqueued


UNTAKEN = (
    update(Series)
    .where(col(Series.state) == SERIES.waiting, col(Series.season_id).not_in(HOLDING_SEASONS))
    .where(col(Series.attempt) == 0)  # those tried before may be waiting for the end of a pause
    .where(col(Series.nudge_at) <= bindparam("untaken_at", type_=UtcDateTime))
    .values(nudge_at=bindparam("at", type_=UtcDateTime))
)


@cache
def _lost(judge_unfit: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement for whether, at the instant `at`, rows of each kind wait to be enqueued, and leases have
    expired. (A person's match that nobody took in time counts as waiting.) Its last column: whether most slots are idle
    beside series whose messages nobody took.
    """
    at, untaken_at = bindparam("at", type_=UtcDateTime), bindparam("untaken_at", type_=UtcDateTime)
    claimed: Any = 0
    for life in KINDS:
        if life.takes_slot:
            holding = columns(func.count()).select_from(life.table).where(*life.has_worker())
            claimed = claimed + holding.scalar_subquery()
    mostly_idle = slots_judging(judge_unfit).scalar_subquery() > 2 * claimed
    untaken, _ = SERIES.lost(untaken_at)
    return columns(*(figure for life in KINDS for figure in life.lost(at)), and_(untaken, mostly_idle))
