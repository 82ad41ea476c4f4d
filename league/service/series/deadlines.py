"""How prompts met their deadlines: the counts behind `/timeouts`, written in the transaction that stores a series.

Theory of operation
-------------------
The counts are sums of the response times that also feed the workers' metrics, by season, command and machine. Each
series is added to four spans, the minute, the hour and the day in which it ended and the whole season, so no page adds
up more than some hundred rows, however long a season is. Rows of minutes are removed after `MINUTES_KEPT`.

Workers lock these rows before the season's (`touch_log`), and an organiser who rules has locked the season first. So
rulings write rows of their own (`ruled`), which no worker touches, and neither ever waits for the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Insert, bindparam, case
from sqlalchemy import select as columns
from sqlmodel import Session, col, delete, func

from deadheat.engine.core import Fault
from deadheat.league.causes import Cause
from deadheat.league.jobs import MatchOutcome
from deadheat.league.service.ground.machines import machine_numbers
from deadheat.league.service.ground.steps import DIALECTS, insert_or_add, set_by_key
from deadheat.league.service.ground.storable import storable_word
from deadheat.league.service.series.response_times import as_json, stored_counts
from deadheat.league.states import Span
from deadheat.league.tables import Attempt, DeadlineCount, Match, Participant, UtcDateTime
from deadheat.league.time_buckets import Counts, added

MINUTES_KEPT = timedelta(hours=2)
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""The beginning of the row for a whole season."""

KEY = ("span", "begins_at", "season_id", "command", "machine", "ruled")
ADDED = ("prompts", "timeouts", "given_back", "void")


@dataclass(slots=True)
class _Sum:
    limit_ns: int = 0
    prompts: int = 0
    timeouts: int = 0
    given_back: int = 0
    void: int = 0
    counts: list[Counts] = field(default_factory=list)


def began(span: Span, at: datetime) -> datetime:
    """Return when the span began in which an instant lies."""
    if span is Span.SEASON:
        return ALWAYS
    minute = at.astimezone(UTC).replace(second=0, microsecond=0)
    return minute if span is Span.MINUTE else minute.replace(minute=0, hour=0 if span is Span.DAY else minute.hour)


def count_deadlines(
    session: Session, season_id: int, machine: int, outcomes: Sequence[MatchOutcome], at: datetime
) -> None:
    """Add the matches of a series that has just ended on a machine (0: unknown), and the prompts of its void attempts
    that no verdict ended.
    """
    sums: dict[str, _Sum] = {}
    for outcome in outcomes:
        for latency in outcome.latencies:
            one = sums.setdefault(storable_word(latency.command), _Sum())
            one.limit_ns = max(one.limit_ns, latency.limit_ns)
            one.prompts += latency.prompts
            one.timeouts += latency.timeouts
            one.given_back += latency.given_back
            one.counts.append(latency.counts)
        for attempt in outcome.attempts:
            if attempt.cause != Cause.PLAYED and attempt.evidence.get("seat") is not None:
                sums.setdefault(storable_word(str(attempt.evidence.get("command", ""))), _Sum()).void += 1
    if not sums:
        return
    rows = [
        {**key, "limit_ns": one.limit_ns, **{name: getattr(one, name) for name in ADDED}, "counts": {}}
        for command, one in sorted(sums.items())
        for key in _keys(season_id, command, machine, at, ruled=False)
    ]
    session.flush()
    before = session.connection().execute(_adding(session.get_bind().dialect.name), rows).all()
    counted = {command: added(one.counts) for command, one in sums.items()}
    changed = [
        {
            **dict(zip(KEY, row, strict=False)),
            "counts": as_json(added([stored_counts(row.counts), counted[row.command]])),
        }
        for row in before
    ]
    set_by_key(session, DeadlineCount, KEY, changed)


def rule_on_deadlines(session: Session, match: Match, *, void: bool) -> None:
    """Turn the time-outs of a match that an organiser voids into void answers, or those of a restored match back."""
    rows = session.connection().execute(LATE, {"match_id": match.id}).all()
    if not rows or match.finished_at is None:
        return
    by = session.connection().execute(PLAYED_BY, {"match_id": match.id}).scalar()
    machine = machine_numbers(session, {by}).get(by, 0)
    one = 1 if void else -1
    changes = [
        {**key, "timeouts": -one * row.late, "void": one * row.late}
        for row in rows
        for key in _keys(match.season_id, row.fault_command or "", machine, match.finished_at, ruled=True)
    ]
    insert_or_add(session, DeadlineCount, KEY, changes)


LATE = (
    columns(col(Participant.fault_command), func.count().label("late"))
    .where(col(Participant.match_id) == bindparam("match_id"), col(Participant.fault) == Fault.TIMEOUT)
    .group_by(col(Participant.fault_command))
)
PLAYED_BY = columns(col(Attempt.worker)).where(
    col(Attempt.match_id) == bindparam("match_id"), col(Attempt.cause) == Cause.PLAYED
)
FORGOTTEN = delete(DeadlineCount).where(
    col(DeadlineCount.span) == Span.MINUTE, col(DeadlineCount.begins_at) < bindparam("oldest", type_=UtcDateTime)
)


def forget_minutes(session: Session, at: datetime) -> None:
    """Remove the counts of minutes that no page reads any more."""
    session.connection().execute(FORGOTTEN, {"oldest": at - MINUTES_KEPT})


def _keys(season_id: int, command: str, machine: int, at: datetime, *, ruled: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the keys of the rows to which a prompt belongs, in the order in which all workers lock them."""
    for span in Span:
        yield dict(zip(KEY, (span, began(span, at), season_id, command, machine, ruled), strict=True))


@cache
def _adding(dialect: str) -> Insert:
    """Return the statement that adds to rows, made if they are missing, locks them, and returns their buckets."""
    inserted = DIALECTS[dialect](DeadlineCount)
    more: dict[str, Any] = {name: getattr(DeadlineCount, name) + inserted.excluded[name] for name in ADDED}
    longest = inserted.excluded.limit_ns
    more["limit_ns"] = case((longest > col(DeadlineCount.limit_ns), longest), else_=col(DeadlineCount.limit_ns))
    returned = [getattr(DeadlineCount, name) for name in (*KEY, "counts")]
    statement: Insert = inserted.on_conflict_do_update(index_elements=KEY, set_=more).returning(*returned)
    return statement
