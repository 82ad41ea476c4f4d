"""Finding lost work: leases that nobody renews, and rows whose message never reached anyone.

Everything is derived from the database, so it does not matter what was lost: a worker, a message, the whole queue.
One sweep is bounded (`sweep_limit`) and asks two indexes; its cost does not grow with the backlog.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session, col, select, update

from league.database import now, settings_of
from league.service.builds import give_back_build
from league.service.play import give_back_series
from league.states import SeriesState, VersionState
from league.tables import BotVersion, Series

log = logging.getLogger(__name__)

LEASE_EXPIRED = "lease-expired"
"""Cause in the ledger of an attempt whose worker fell silent."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Rows that wait and must be enqueued (again)."""

    build_ids: list[int]
    series_ids: list[int]


def sweep(session: Session) -> Swept:
    """Take expired leases back and say what to enqueue, after the commit. Doubled messages harm nothing."""
    at = now(session)
    _take_back_builds(session, at)
    _take_back_series(session, at)
    return Swept(_due(session, BotVersion, VersionState.UPLOADED, at), _due(session, Series, SeriesState.QUEUED, at))


def _take_back_series(session: Session, at: datetime) -> None:
    expired = (
        select(Series.id, Series.attempt, Series.worker)
        .where(Series.state == SeriesState.RUNNING, col(Series.lease_until) < at)
        .order_by(col(Series.lease_until))
        .limit(settings_of(session).sweep_limit)
    )
    for series_id, attempt, worker in session.exec(expired).all():
        detail = f"worker {worker} did not renew its lease in time"
        if give_back_series(session, series_id, attempt, worker, LEASE_EXPIRED, detail, {}):
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
        if give_back_build(session, version_id, attempt, LEASE_EXPIRED, detail, {}):
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
        again = at + timedelta(seconds=settings.requeue_seconds)
        chosen = (col(table.id).in_(ids), col(table.state) == waiting)
        session.exec(update(table).where(*chosen).values(nudge_at=again))
    return ids
