"""How the league ran in the last day, minute by minute, for the operator's charts.

The sweep writes one row each minute, and counts the attempts stored since the row before. Attempts are stored when
their series ends, but each is added to the row of the minute in which it ended itself. An attempt that another
transaction commits later under a lower number is missed; only charts use these rows. In a minute without a row, no
sweep ran.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, delete, exists, func, select

from deadheat.engine.core import NS_PER_S
from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.service.ground.steps import insert_new
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.deadlines import forget_minutes
from deadheat.league.service.series.games import HOLDING_SEASONS
from deadheat.league.tables import Attempt, LatencySummary, Machine, Sample, Series, UtcDateTime, WorkerHost

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


def take_sample(session: Session) -> bool:
    """Store this minute's sample. Return False if it exists already, or another worker stores it at the same time."""
    minute = now(session).replace(second=0, microsecond=0)
    if session.exec(select(exists().where(col(Sample.at) >= minute))).one():
        return False
    before = session.exec(BEFORE).first()
    waits = select(func.count()).where(Series.state == SERIES.waiting, col(Series.season_id).not_in(HOLDING_SEASONS))
    stand = select(select(func.max(Attempt.id)).scalar_subquery(), waits.scalar_subquery())
    newest, waiting = session.exec(stand).one()
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
    session.connection().execute(delete(Sample).where(col(Sample.at) < minute - KEPT))
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
