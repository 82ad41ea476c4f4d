"""The state of the queues, from the database, for operators."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import case
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, exists, func, select

from deadheat.engine.core import Fault
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.course.schedule import has_unplayed
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.games import HOLDING_SEASONS
from deadheat.league.service.series.hosts import judging_slots
from deadheat.league.states import IN_PLAY, ON_LADDER, JobState, MatchState
from deadheat.league.tables import Attempt, AuditRecord, Exhibition, Match, Participant, RatingSnapshot, Season, Series

ENDED_WITHIN = timedelta(days=1)
"""How long people's ended matches are counted."""

ENDS: Mapping[str | None, str] = {None: "played", Fault.EXITED: "resigned", Fault.TIMEOUT: "late"}
"""The ending of a played match, by the person's fault."""


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """One queue. `oldest_seconds`: how long the oldest row has waited; 0 if none waits. Some series always wait,
    because they are drawn ahead. So for these, it is how long a season with waiting series has had none running.
    """

    name: str
    rows: Mapping[str, int]
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues, and the age of each current season's newest ranking; `behind`: the seasons whose log of results has
    changed since. `exhibitions_ended`: how people's matches of the last day ended: played, resigned, late, left (before
    it began), no-worker, or a cause of failure. `slots`: how many matches the judging machines can play at a time;
    `idle_slots`: those that play and build nothing, although matches are unplayed. `given_up`: the abandoned series at
    which the service failed too often; the others were no longer wanted.
    """

    queues: tuple[QueueInfo, ...]
    slots: int
    idle_slots: int
    ranking_age_seconds: Mapping[int, float]
    behind: frozenset[int]
    exhibitions_ended: Mapping[str, int]
    given_up: int


def queues(session: Session) -> Queues:
    """Return the present state of the queues. Only unfinished and abandoned rows of a league's own jobs are counted,
    and of people's matches those of a day: their number stays small.
    """
    at = now(session)
    newest = select(func.max(RatingSnapshot.id)).where(RatingSnapshot.season_id == Season.id).correlate(Season)
    seasons = select(Season.id, RatingSnapshot.created_at, col(Season.log_serial) != col(Season.rated_serial))
    seasons = seasons.join(RatingSnapshot, col(RatingSnapshot.id) == newest.scalar_subquery())
    ranked = session.exec(seasons.where(col(Season.state).in_(IN_PLAY))).all()
    ages = {season_id: (at - created_at).total_seconds() for season_id, created_at, _ in ranked}
    behind = frozenset(season_id for season_id, _, is_behind in ranked if is_behind)
    given_up, *stand = session.connection().execute(STAND).one()
    queued = {life: _queue(life, stand, at) for life in KINDS}
    slots = judging_slots(session)
    idle = _idle(session, slots, queued)
    return Queues(tuple(queued.values()), slots, idle, ages, behind, _ended(session, at), given_up)


def _counts(life: Life) -> tuple[StrEnum, ...]:
    """Return the states whose rows are counted."""
    return life.waiting, life.held, *life.counted


def _stand(life: Life) -> Iterator[Any]:
    """Yield the number of rows in each of these states, then the instant since which the first row has waited. Series
    that their season holds do not wait for a worker.
    """
    table = life.table
    free = (col(Series.season_id).not_in(HOLDING_SEASONS),) if life is SERIES else ()
    for state in _counts(life):
        rows = (col(table.state) == state, *(free if state is life.waiting else ()))
        yield select(func.count()).select_from(table).where(*rows).scalar_subquery()
    if life is SERIES:
        yield _SINCE.scalar_subquery()
        return
    waiting = select(table.queued_at).where(col(table.state) == life.waiting)
    yield waiting.order_by(col(table.queued_at)).limit(1).scalar_subquery()


_OTHER = aliased(Series)
_OF_SEASON = col(_OTHER.season_id) == Series.season_id
_ENDED = select(func.max(col(_OTHER.finished_at))).where(_OF_SEASON).correlate(Series).scalar_subquery()
_UNSERVED = (
    select(func.min(col(Series.queued_at)).label("queued_at"), _ENDED.label("ended_at"))
    .where(col(Series.state) == SERIES.waiting, col(Series.season_id).not_in(HOLDING_SEASONS))
    .where(~exists().where(_OF_SEASON, col(_OTHER.state) == SERIES.held).correlate(Series))
    .group_by(col(Series.season_id))
    .subquery()
)
_LATER = case((_UNSERVED.c.ended_at > _UNSERVED.c.queued_at, _UNSERVED.c.ended_at), else_=_UNSERVED.c.queued_at)
_SINCE = select(func.min(_LATER))
"""The instant since which a season has had series waiting and none running, of the season where it is the earliest."""


_GIVEN_UP = select(func.count()).select_from(AuditRecord).where(AuditRecord.action == "series-abandoned")
STAND: Any = columns(_GIVEN_UP.scalar_subquery(), *(part for life in KINDS for part in _stand(life)))
"""One statement, because each costs more than what it counts."""


def _idle(session: Session, slots: int, queued: Mapping[Life, QueueInfo]) -> int:
    idle = slots - sum(queue.rows[life.held] for life, queue in queued.items() if life.takes_slot)
    if idle <= 0:
        return 0
    if queued[SERIES].rows[SERIES.waiting]:
        return idle
    seasons = session.exec(select(Season).where(col(Season.state).in_(ON_LADDER)))
    return idle if any(has_unplayed(session, season) for season in seasons) else 0


def _ended(session: Session, at: datetime) -> dict[str, int]:
    ended = dict.fromkeys((*ENDS.values(), Cause.LEFT, Cause.NO_WORKER), 0)
    how = (col(Exhibition.state), col(Exhibition.fault), col(Exhibition.cause))
    endings = select(*how, func.count()).where(col(Exhibition.finished_at) > at - ENDED_WITHIN).group_by(*how)
    for state, fault, cause, count in session.connection().execute(endings):
        end = ENDS.get(fault, str(fault)) if state is JobState.DONE else cause
        ended[end] = ended.get(end, 0) + count
    return ended


def _queue(life: Life, stand: list[Any], at: datetime) -> QueueInfo:
    """Return the state of one kind of job's queue, which is taken from the front of `stand`."""
    rows = {state.value: stand.pop(0) for state in _counts(life)}
    queued_at = stand.pop(0)
    return QueueInfo(life.queue, rows, (at - queued_at).total_seconds() if queued_at is not None else 0.0)


NEWEST = 1000
"""The number of newest attempts and matches that the figures cover."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """`voids`: how many of the newest attempts at matches are void, by cause (our failures), since the
    end of the oldest of them, or None without any. `faults`: how many seats of the newest finished matches failed, by
    fault (the bots').
    """

    attempts: int
    attempts_since: datetime | None
    voids: Mapping[str, int]
    faults: Mapping[str, int]


def conditions(session: Session, asker: Person) -> Conditions:
    """Return the failures among the newest matches. Raises NotAllowed."""
    asker.must_administer()
    attempts = select(Attempt.cause, Attempt.finished_at).where(col(Attempt.match_id).is_not(None))
    newest = attempts.order_by(col(Attempt.id).desc()).limit(NEWEST).subquery()
    by_cause = select(newest.c.cause, func.count(), func.min(newest.c.finished_at)).group_by(newest.c.cause)
    causes = {cause: (count, first) for cause, count, first in session.exec(by_cause)}
    matches = select(Match.id).where(Match.state == MatchState.DONE)
    done = matches.order_by(col(Match.id).desc()).limit(NEWEST).subquery()
    oldest = session.exec(select(func.min(done.c.id))).one() or 0
    failed = select(Participant.fault, func.count()).where(col(Participant.match_id) >= oldest)
    faults = session.exec(failed.where(col(Participant.fault).is_not(None)).group_by(col(Participant.fault)))
    return Conditions(
        attempts=sum(count for count, _ in causes.values()),
        attempts_since=min((first for _, first in causes.values()), default=None),
        voids={cause: count for cause, (count, _) in sorted(causes.items()) if cause != "played"},
        faults={str(fault): count for fault, count in faults if fault is not None},
    )
