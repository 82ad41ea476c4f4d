"""How the league runs, for operators: its queues, recent failures, and the last day minute by minute."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import bindparam, case
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, delete, exists, func, select

from deadheat.engine.core import NS_PER_S, Fault
from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.service.course.schedule import has_unplayed
from deadheat.league.service.ground.life import Life
from deadheat.league.service.ground.steps import insert_new
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.deadlines import forget_minutes
from deadheat.league.service.series.games import HOLDING_SEASONS
from deadheat.league.service.series.hosts import judging_slots
from deadheat.league.states import IN_PLAY, ON_LADDER, MatchState, SeatKind, TableState
from deadheat.league.tables import (
    Attempt,
    AuditRecord,
    GameTable,
    LatencySummary,
    Machine,
    Match,
    Participant,
    RatingSnapshot,
    Sample,
    Season,
    Series,
    TableSeat,
    UtcDateTime,
    WorkerHost,
)

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
    idle = max(0, slots - sum(queue.rows[life.held] for life, queue in queued.items() if life.takes_slot))
    if idle and not queued[SERIES].rows[SERIES.waiting]:
        seasons_now = session.exec(select(Season).where(col(Season.state).in_(ON_LADDER)))
        idle = idle if any(has_unplayed(session, season) for season in seasons_now) else 0
    return Queues(tuple(queued.values()), slots, idle, ages, behind, _ended(session, at), given_up)


def _counts(life: Life) -> tuple[StrEnum, ...]:
    """Return the states whose rows are counted."""
    return life.waiting, life.held, *life.counted


def _stand(life: Life) -> Iterator[Any]:
    """Yield the number of rows in each of these states, then the instant since which the first row has waited. Series
    that their season holds do not wait for a worker, and agents' keep none busy.
    """
    table = life.table
    free = (col(Series.season_id).not_in(HOLDING_SEASONS),) if life is SERIES else ()
    for state in _counts(life):
        here = (col(table.state) == state, *(free if state is life.waiting else ()))
        rows = life.has_worker() if state is life.held and life.takes_slot else here
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


def _ended(session: Session, at: datetime) -> dict[str, int]:
    ended = dict.fromkeys((*ENDS.values(), Cause.LEFT, Cause.NO_WORKER), 0)
    how = (col(GameTable.state), col(TableSeat.fault), col(GameTable.cause))
    person = (col(TableSeat.table_id) == GameTable.id, col(TableSeat.kind) == SeatKind.PERSON)
    endings = select(*how, func.count()).where(col(GameTable.finished_at) > at - ENDED_WITHIN, *person).group_by(*how)
    for state, fault, cause, count in session.connection().execute(endings):
        end = ENDS.get(fault, str(fault)) if state is TableState.DONE else cause
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


# How the league ran in the last day, minute by minute, for the operator's charts.
# The sweep writes one row each minute, and counts the attempts stored since the row before. Attempts are stored when
# their series ends, but each is added to the row of the minute in which it ended itself. An attempt that another
# transaction commits later under a lower number is missed; only charts use these rows. In a minute without a row, no
# sweep ran.

KEPT = timedelta(hours=25)
GAP = timedelta(minutes=5)
"""After a longer pause without a sample, counting starts again, because nothing is known of the time between."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A machine in one sample. `late_seconds`: how late its keeper woke up, at worst; `steal_share`, `busy_share`: 0 to
    1; `stolen_seconds`: the time that it took from bots in the counted matches; `saved`: those of their `replies` that
    counted although they were past their deadlines, because of that.
    """

    matches: int
    voids: int
    late_seconds: float = 0.0
    steal_share: float = 0.0
    stolen_seconds: float = 0.0
    saved: int = 0
    busy_share: float = 0.0
    replies: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """One sample: `minutes` since the previous one, waiting series, and the machines that reported, by number."""

    at: datetime
    minutes: float
    waiting: int
    machines: Mapping[int, Ran]


IS_KEPT = select(exists().where(col(Sample.at) >= bindparam("minute", type_=UtcDateTime)))
_WAITS = select(func.count()).where(Series.state == SERIES.waiting, col(Series.season_id).not_in(HOLDING_SEASONS))
SAMPLED = select(select(func.max(Attempt.id)).scalar_subquery(), _WAITS.scalar_subquery())

FORGOTTEN = delete(Sample).where(col(Sample.at) < bindparam("oldest", type_=UtcDateTime))


def take_sample(session: Session) -> bool:
    """Store this minute's sample. Return False if it exists already, or another worker stores it at the same time."""
    minute = now(session).replace(second=0, microsecond=0)
    if session.exec(IS_KEPT, params={"minute": minute}).one():
        return False
    before = session.exec(BEFORE).first()
    newest, waiting = session.exec(SAMPLED).one()
    newest = newest or 0
    fresh = before is None or minute - before.at > GAP
    since = newest if before is None or fresh else before.attempt
    alive = now(session) - timedelta(seconds=settings_of(session).lease_seconds)
    row = {
        "at": minute,
        "attempt": newest,
        "minutes": 1.0 if before is None or fresh else (minute - before.at).total_seconds() / 60,
        "waiting": waiting,
        "machines": {
            str(host.id): _stored(Ran(0, 0, host.late_seconds, round(host.steal_share, 4), 0.0, 0, host.busy_share))
            for host in session.connection().execute(NUMBERED)
            if host.last_seen_at >= alive
        },
    }
    if not insert_new(session, Sample, [row]):
        return False
    _count(session, session.get_one(Sample, minute), since)
    session.connection().execute(FORGOTTEN, {"oldest": minute - KEPT})
    if fresh or before is None or before.at.hour != minute.hour:
        forget_minutes(session, minute)
    return True


def is_sampled(session: Session) -> bool:
    """Say whether a scheduler and a worker of the queue `control` have worked together lately."""
    newest = session.exec(BEFORE).first()
    return newest is not None and now(session) - newest.at <= GAP


BEFORE = select(Sample).order_by(col(Sample.at).desc()).limit(1)


def samples(session: Session, asker: Person, hours: int) -> list[Moment]:
    """Return the samples of the last hours, the oldest first. Raises NotAllowed."""
    asker.must_administer()
    lately = col(Sample.at) > now(session) - timedelta(hours=hours)
    rows = session.exec(select(Sample).where(lately).order_by(col(Sample.at)))
    return [
        Moment(row.at, row.minutes, row.waiting, {int(key): Ran(*ran) for key, ran in row.machines.items()})
        for row in rows
    ]


def _count(session: Session, newest: Sample, since: int) -> None:
    """Add each attempt at a match stored after `since` to the sample of the minute in which it ended."""
    attempts = session.connection().execute(ENDED, {"since": since, "newest": newest.attempt}).all()
    if not attempts:
        return
    numbers = {host.name: str(host.id) for host in session.connection().execute(NUMBERED)}
    rows = session.exec(FROM, params={"ended_at": min(ended_at for _, _, ended_at, *_ in attempts)}).all() or [newest]
    minutes = [row.at for row in rows]
    counted: dict[tuple[int, str], Ran] = {}
    for worker, cause, ended_at, evidence, replies in attempts:
        number = numbers.get((worker or "").rpartition(":")[0])
        if number is None:
            continue
        place = min(bisect_right(minutes, ended_at), len(rows) - 1)
        ran = counted.get((place, number)) or Ran(*rows[place].machines.get(number, (0, 0)))
        counted[place, number] = _with(ran, cause, evidence, replies or 0)
    for (place, number), ran in counted.items():
        rows[place].machines = {**rows[place].machines, number: _stored(ran)}


def _with(ran: Ran, cause: str, evidence: Mapping[str, Any], replies: int) -> Ran:
    """Return the sample with one more attempt."""
    if cause != Cause.PLAYED:
        return replace(ran, voids=ran.voids + 1)
    return replace(
        ran,
        matches=ran.matches + 1,
        stolen_seconds=ran.stolen_seconds + evidence.get("stolen_ns", 0) / NS_PER_S,
        saved=ran.saved + evidence.get("past_deadline", 0),
        replies=ran.replies + replies,
    )


def _stored(ran: Ran) -> list[float]:
    return [round(value, 5) for value in astuple(ran)]


REPLIES = select(func.sum(LatencySummary.prompts)).where(LatencySummary.match_id == Attempt.match_id)
ENDED = columns(
    col(Attempt.worker),
    col(Attempt.cause),
    col(Attempt.finished_at),
    col(Attempt.evidence),
    REPLIES.correlate(Attempt).scalar_subquery(),
).where(
    col(Attempt.id) > bindparam("since"), col(Attempt.id) <= bindparam("newest"), col(Attempt.match_id).is_not(None)
)
FROM = select(Sample).where(col(Sample.at) > bindparam("ended_at", type_=UtcDateTime)).order_by(col(Sample.at))
NUMBERED = columns(
    col(Machine.id),
    col(Machine.name),
    col(WorkerHost.last_seen_at),
    col(WorkerHost.late_seconds),
    col(WorkerHost.steal_share),
    col(WorkerHost.busy_share),
).join(WorkerHost, col(WorkerHost.name) == Machine.name)
"""The machines that play, with their numbers, names and latest figures."""
