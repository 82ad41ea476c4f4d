"""How the league ran in the last day, minute by minute, for the operator's charts.

The sweep writes one row each minute. A row counts the attempts stored since the row before. An attempt that another
transaction commits later under a lower number is missed; only charts use these rows. A minute without a row is one in
which no sweep ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam
from sqlmodel import Session, col, delete, exists, func, select

from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.tables import Attempt, Machine, Sample, Series, UtcDateTime, WorkerHost

KEPT = timedelta(hours=25)
GAP = timedelta(minutes=5)
"""After a longer pause without a sample, counting begins anew, because nothing is known of the time between."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A machine in one sample. `late_seconds`: how late its keeper woke up, at worst; `steal_share`: 0 to 1."""

    matches: int
    voids: int
    late_seconds: float
    steal_share: float


@dataclass(frozen=True, slots=True)
class Moment:
    """One sample: `minutes` since the previous one, waiting series, and the machines that reported, by number."""

    at: datetime
    minutes: float
    waiting: int
    machines: Mapping[int, Ran]


def take_sample(session: Session) -> bool:
    """Store this minute's sample. Return False if it exists already."""
    minute = now(session).replace(second=0, microsecond=0)
    if session.exec(IS_KEPT, params={"minute": minute}).one():
        return False
    before = session.exec(BEFORE).first()
    newest, waiting = session.exec(STAND).one()
    newest = newest or 0
    fresh = before is None or minute - before.at > GAP
    since = newest if before is None or fresh else before.attempt
    row = Sample(
        at=minute,
        attempt=newest,
        minutes=1.0 if before is None or fresh else (minute - before.at).total_seconds() / 60,
        waiting=waiting,
        machines=_machines(session, _counted(session, since, newest)),
    )
    session.add(row)
    session.flush()
    session.connection().execute(FORGOTTEN, {"oldest": minute - KEPT})
    return True


IS_KEPT = select(exists().where(col(Sample.at) >= bindparam("minute", type_=UtcDateTime)))
BEFORE = select(Sample).order_by(col(Sample.at).desc()).limit(1)
STAND = select(
    select(func.max(Attempt.id)).scalar_subquery(),
    select(func.count()).select_from(Series).where(Series.state == SERIES.waiting).scalar_subquery(),
)
FORGOTTEN = delete(Sample).where(col(Sample.at) < bindparam("oldest", type_=UtcDateTime))


def samples(session: Session, asker: Person, hours: int) -> list[Moment]:
    """Return the samples of the last hours, the oldest first. Raises NotAllowed."""
    asker.must_administer()
    lately = col(Sample.at) > now(session) - timedelta(hours=hours)
    rows = session.exec(select(Sample).where(lately).order_by(col(Sample.at)))
    return [
        Moment(row.at, row.minutes, row.waiting, {int(key): Ran(*ran) for key, ran in row.machines.items()})
        for row in rows
    ]


def _counted(session: Session, since: int, newest: int) -> dict[str, list[int]]:
    """By machine, the numbers of played and of void attempts at matches."""
    counts: dict[str, list[int]] = {}
    for worker, played, count in session.exec(COUNTED, params={"since": since, "newest": newest}):
        of_machine = counts.setdefault((worker or "").rpartition(":")[0], [0, 0])
        of_machine[0 if played else 1] += count
    return counts


PLAYED = col(Attempt.cause) == Cause.PLAYED
COUNTED = (
    select(Attempt.worker, PLAYED, func.count())
    .where(Attempt.id > bindparam("since"), Attempt.id <= bindparam("newest"), col(Attempt.match_id).is_not(None))
    .group_by(col(Attempt.worker), PLAYED)
)


def _machines(session: Session, counts: Mapping[str, list[int]]) -> dict[str, list[float]]:
    """The sample of each machine that is alive or has played: the fields of `Ran`."""
    alive = now(session) - timedelta(seconds=settings_of(session).lease_seconds)
    return {
        str(number): [*counts.get(host.name, (0, 0)), round(host.late_seconds, 5), round(host.steal_share, 4)]
        for number, host in session.exec(NUMBERED)
        if host.last_seen_at >= alive or host.name in counts
    }


NUMBERED = select(Machine.id, WorkerHost).join(WorkerHost, col(WorkerHost.name) == Machine.name)
