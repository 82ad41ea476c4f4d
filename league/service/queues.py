"""How the queues stand, from the database: for operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlmodel import Session, col, func, select

from league.database import now
from league.states import SeasonState, SeriesState, VersionState
from league.tables import BotVersion, RatingSnapshot, Season, Series


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """One queue. `oldest_seconds`: how long the row that waits longest has waited; 0 where none does."""

    name: str
    rows: Mapping[str, int]
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues, and how old the newest ranking of each open season is."""

    queues: tuple[QueueInfo, ...]
    ranking_age_seconds: Mapping[int, float]


def queues(session: Session) -> Queues:
    """How things stand now. Only unfinished and abandoned rows are counted: their number stays small."""
    at = now(session)
    newest = (
        select(Season.id, func.max(RatingSnapshot.created_at))
        .join(RatingSnapshot, col(RatingSnapshot.season_id) == Season.id)
        .where(Season.state == SeasonState.OPEN)
        .group_by(col(Season.id))
    )
    ages = {season_id: (at - created_at).total_seconds() for season_id, created_at in session.exec(newest)}
    builds = (VersionState.UPLOADED, VersionState.BUILDING)
    series = (SeriesState.QUEUED, SeriesState.RUNNING, SeriesState.ABANDONED)
    return Queues((_queue(session, "build", BotVersion, builds, at), _queue(session, "play", Series, series, at)), ages)


def _queue(
    session: Session,
    name: str,
    table: type[BotVersion] | type[Series],
    counted: tuple[StrEnum, ...],
    at: datetime,
) -> QueueInfo:
    waiting = counted[0]
    rows = {}
    for state in counted:
        rows[state.value] = session.exec(select(func.count()).select_from(table).where(col(table.state) == state)).one()
    oldest = select(table.queued_at).where(col(table.state) == waiting).order_by(col(table.queued_at)).limit(1)
    queued_at = session.exec(oldest).first()
    return QueueInfo(name, rows, (at - queued_at).total_seconds() if queued_at is not None else 0.0)
