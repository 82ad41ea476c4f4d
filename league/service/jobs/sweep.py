"""Finding lost work: leases that nobody renews, and rows whose message never reached anyone.

Everything is derived from the database, so it does not matter what was lost: a worker, a message, the whole queue.
One sweep is bounded (`sweep_limit`) and asks two indexes of each table; its cost does not grow with the backlog. Mostly
there is nothing to do, and one statement says so.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, or_, select, update

from league.causes import Cause
from league.database import now, settings_of
from league.jobs import Failure
from league.service.jobs.builds import give_back_build
from league.service.jobs.exhibiting import sweep_exhibitions
from league.service.series.carrying_out import give_back_series
from league.states import ExhibitionState, SeriesState, VersionState
from league.tables import BotVersion, Exhibition, Series, UtcDateTime

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """Rows that wait and must be enqueued (again)."""

    build_ids: list[int]
    series_ids: list[int]
    exhibition_ids: list[int]


def sweep(session: Session) -> Swept:
    """Take expired leases back and say what to enqueue, after the commit. Doubled messages harm nothing."""
    at = now(session)
    builds, series, exhibitions = session.execute(_lost(), {"at": at}).one()
    if builds:
        _take_back_builds(session, at)
    if series:
        _take_back_series(session, at)
    return Swept(
        build_ids=_due(session, BotVersion, VersionState.UPLOADED, at) if builds else [],
        series_ids=_due(session, Series, SeriesState.QUEUED, at) if series else [],
        exhibition_ids=sweep_exhibitions(session) if exhibitions else [],
    )


@cache
def _lost() -> Select[bool, bool, bool]:
    """Of which kinds something waits to be enqueued, or lies under an expired lease, at the instant `at`. (Where nobody
    took a person's match for too long, its row is one that waits.)
    """
    at = bindparam("at", type_=UtcDateTime)

    def lost(table: type[BotVersion | Series | Exhibition], waiting: StrEnum, held: StrEnum) -> ColumnElement[bool]:
        due = exists().where(col(table.state) == waiting, col(table.nudge_at) <= at)
        return or_(due, exists().where(col(table.state) == held, col(table.lease_until) < at))

    return columns(
        lost(BotVersion, VersionState.UPLOADED, VersionState.BUILDING),
        lost(Series, SeriesState.QUEUED, SeriesState.RUNNING),
        lost(Exhibition, ExhibitionState.QUEUED, ExhibitionState.RUNNING),
    )


def _take_back_series(session: Session, at: datetime) -> None:
    expired = (
        select(Series.id, Series.attempt, Series.worker)
        .where(Series.state == SeriesState.RUNNING, col(Series.lease_until) < at)
        .order_by(col(Series.lease_until))
        .limit(settings_of(session).sweep_limit)
    )
    for series_id, attempt, worker in session.exec(expired).all():
        detail = f"worker {worker} did not renew its lease in time"
        if give_back_series(session, series_id, attempt, worker, Failure(Cause.LEASE_EXPIRED, detail)):
            log.warning("series %d taken back: %s", series_id, detail)


def _take_back_builds(session: Session, at: datetime) -> None:
    expired = (
        select(BotVersion.id, BotVersion.attempt, BotVersion.worker)
        .where(BotVersion.state == VersionState.BUILDING, col(BotVersion.lease_until) < at)
        .order_by(col(BotVersion.lease_until))
        .limit(settings_of(session).sweep_limit)
    )
    for version_id, attempt, worker in session.exec(expired).all():
        detail = f"worker {worker} did not renew its lease in time"
        if give_back_build(session, version_id, attempt, Cause.LEASE_EXPIRED, detail, {}):
            log.warning("build of version %d taken back: %s", version_id, detail)


def _due(session: Session, table: type[BotVersion] | type[Series], waiting: Any, at: datetime) -> list[int]:
    settings = settings_of(session)
    due = (
        select(table.id)
        .where(col(table.state) == waiting, col(table.nudge_at) <= at)
        .order_by(col(table.nudge_at))
        .limit(settings.sweep_limit)
    )
    ids = list(session.exec(due).all())
    if ids:
        # Whatever was claimed in this moment may be changed too: who gives it back sets this anew. (With the state as a
        # condition, SQLite reads all that waits instead of these rows.)
        again = at + timedelta(seconds=settings.requeue_seconds)
        session.exec(update(table).where(col(table.id).in_(ids)).values(nudge_at=again))
    return ids
