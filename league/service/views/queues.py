"""The state of the queues, from the database, for operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, func, select

from deadheat.engine.core import Fault
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.course.schedule import has_unplayed
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.kinds import KINDS
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.hosts import judging_slots
from deadheat.league.states import IN_PLAY, ON_LADDER, JobState
from deadheat.league.tables import AuditRecord, Exhibition, RatingSnapshot, Season

ENDED_WITHIN = timedelta(days=1)
"""How long the ended matches of people are counted."""

ENDS: Mapping[str | None, str] = {None: "played", Fault.EXITED: "resigned", Fault.TIMEOUT: "late"}
"""The ending of a played match, by the person's fault."""


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """One queue. `oldest_seconds`: how long the oldest row has waited; 0 if none waits."""

    name: str
    rows: Mapping[str, int]
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues, and the age of each current season's newest ranking; `behind`: seasons whose log of results has
    changed since. `exhibitions_ended`: how people's matches of the last day ended: played, resigned, late, left (before
    it began), no-worker, or a cause of failure. `slots`: how many matches the judging machines can play at a
    time; `idle_slots`: those of them that play and build nothing, although matches are unplayed. `given_up`: the
    abandoned series at which the service failed too often; the others were no longer wanted.
    """

    queues: tuple[QueueInfo, ...]
    slots: int
    idle_slots: int
    ranking_age_seconds: Mapping[int, float]
    behind: frozenset[int]
    exhibitions_ended: Mapping[str, int]
    given_up: int


def queues(session: Session) -> Queues:
    """The present state of the queues. Only unfinished and abandoned rows of a league's own jobs are counted, and of
    people's matches those of a day: their number stays small.
    """
    at = now(session)
    last = select(func.max(RatingSnapshot.id)).where(RatingSnapshot.season_id == Season.id)
    newest = (
        select(Season, RatingSnapshot.created_at)
        .join(RatingSnapshot, col(RatingSnapshot.id) == last.correlate(Season).scalar_subquery())
        .where(col(Season.state).in_(IN_PLAY))
    )
    ages, behind = {}, set()
    for season, created_at in session.exec(newest):
        ages[season.id] = (at - created_at).total_seconds()
        if season.log_serial != season.rated_serial:
            behind.add(season.id)
    queued = {life: _queue(session, life, at) for life in KINDS}
    slots = judging_slots(session)
    idle = _idle(session, slots, queued)
    given_up = select(func.count()).select_from(AuditRecord).where(AuditRecord.action == "series-abandoned")
    return Queues(
        tuple(queued.values()), slots, idle, ages, frozenset(behind), _ended(session, at), session.exec(given_up).one()
    )


def _idle(session: Session, slots: int, queued: Mapping[Life, QueueInfo]) -> int:
    idle = slots - sum(queue.rows[life.held] for life, queue in queued.items() if life.takes_slot)
    if idle <= 0:
        return 0
    if queued[SERIES].rows[SERIES.waiting]:
        return idle
    seasons = session.exec(select(Season).where(col(Season.state).in_(ON_LADDER)))
    return idle if any(has_unplayed(session, season) for season in seasons) else 0


def _ended(session: Session, at: datetime) -> dict[str, int]:
    lately = col(Exhibition.finished_at) > at - ENDED_WITHIN
    counted = select(Exhibition.state, Exhibition.fault, Exhibition.cause, func.count()).where(lately)
    by = (col(Exhibition.state), col(Exhibition.fault), col(Exhibition.cause))
    ended = dict.fromkeys((*ENDS.values(), Cause.LEFT, Cause.NO_WORKER), 0)
    for state, fault, cause, count in session.exec(counted.group_by(*by)):
        end = ENDS.get(fault, str(fault)) if state is JobState.DONE else cause
        ended[end] = ended.get(end, 0) + count
    return ended


def _queue(session: Session, life: Life, at: datetime) -> QueueInfo:
    """The state of one kind of job's queue."""
    table = life.table
    rows = {}
    for state in (life.waiting, life.held, *life.counted):
        rows[state.value] = session.exec(select(func.count()).select_from(table).where(col(table.state) == state)).one()
    oldest = select(table.queued_at).where(col(table.state) == life.waiting).order_by(col(table.queued_at)).limit(1)
    queued_at = session.exec(oldest).first()
    return QueueInfo(life.queue, rows, (at - queued_at).total_seconds() if queued_at is not None else 0.0)
