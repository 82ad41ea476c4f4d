"""How prompts met their deadlines: the counts behind `/timeouts`, written in the transaction that stores a series.

They are sums of the response times that also feed the workers' metrics. Each series is added to the minute, the hour
and the day in which it ended and to the whole season, so no page adds up more than some hundred rows. Matches that
authors asked for are left out, so that nobody's request changes the figures of a season. A worker locks these rows
after its machine's and before the season's (`touch_log`); an organiser who rules has locked the season's first. So
rulings write rows of their own (`ruled`), and neither waits for the other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import bindparam
from sqlmodel import Session, col, delete, func, select

from deadheat.engine.core import Fault
from deadheat.league.causes import Cause
from deadheat.league.jobs import MatchOutcome
from deadheat.league.service.ground.lookups import machine_numbers
from deadheat.league.service.ground.steps import insert_or_add, set_by_key, storable_word
from deadheat.league.states import Players, Span
from deadheat.league.tables import Attempt, DeadlineCount, Match, Participant, Season, UtcDateTime
from deadheat.league.time_buckets import stored_sum

ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""The beginning of the row of a whole season."""

MINUTES_KEPT = timedelta(hours=2)
KEY = ("span", "begins_at", "season_id", "command", "machine", "ruled")
ADDED = ("prompts", "timeouts", "given_back", "void")


def began(span: Span, at: datetime) -> datetime:
    """Return when the span began in which an instant lies."""
    minute = at.astimezone(UTC).replace(second=0, microsecond=0)
    hour = minute.replace(minute=0)
    return {Span.MINUTE: minute, Span.HOUR: hour, Span.DAY: hour.replace(hour=0), Span.SEASON: ALWAYS}[span]


def count_deadlines(
    session: Session, season_id: int, machine: int, outcomes: Sequence[MatchOutcome], at: datetime
) -> None:
    """Add a series that has just ended on a machine (0: unknown). Void attempts count where a seat was to answer."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    buckets: defaultdict[str, Counter[int]] = defaultdict(Counter)
    limits: Counter[str] = Counter()
    for outcome in outcomes:
        for latency in outcome.latencies:
            command = storable_word(latency.command)
            sums[command].update(prompts=latency.prompts, timeouts=latency.timeouts, given_back=latency.given_back)
            buckets[command].update(latency.counts)
            limits[command] = max(limits[command], latency.limit_ns)
        for attempt in outcome.attempts:
            if attempt.cause != Cause.PLAYED and attempt.evidence.get("seat") is not None:
                sums[storable_word(str(attempt.evidence.get("command", "")))]["void"] += 1
    rows = [
        {**key, "limit_ns": limits[command], **{name: figures[name] for name in ADDED}, "counts": {}}
        for command, figures in sorted(sums.items())
        for key in _keys(season_id, command, machine, at)
    ]
    before = insert_or_add(session, DeadlineCount, KEY, rows, largest=["limit_ns"], kept=["counts"])
    changed = [
        {**row, "counts": stored_sum(row["counts"], buckets[row["command"]])}
        for row in before
        if row["span"] is not Span.MINUTE  # no page reads buckets by the minute
    ]
    set_by_key(session, DeadlineCount, KEY, changed)


def rule_on_deadlines(session: Session, match: Match, *, void: bool) -> None:
    """Turn the time-outs of a match that an organiser voids into void answers, or those of a restored match back."""
    late = select(Participant.fault_command, func.count()).where(Participant.match_id == match.id)
    late = late.where(Participant.fault == Fault.TIMEOUT).group_by(col(Participant.fault_command))
    counts = session.exec(late).all()
    if session.get_one(Season, match.season_id).players is Players.AGENTS:
        return  # their lateness is counted apart
    if counts and match.finished_at is not None and match.asked is None:
        played = select(Attempt.worker).where(Attempt.match_id == match.id, Attempt.cause == Cause.PLAYED)
        worker = session.exec(played).first()
        machine = machine_numbers(session, {worker}).get(worker, 0)
        changes = [
            {**key, "timeouts": -count if void else count, "void": count if void else -count}
            for command, count in counts
            for key in _keys(match.season_id, command or "", machine, match.finished_at, ruled=True)
        ]
        insert_or_add(session, DeadlineCount, KEY, changes)


def forget_minutes(session: Session, at: datetime) -> None:
    """Remove the counts of minutes that no page reads any more."""
    session.connection().execute(FORGOTTEN, {"oldest": at - MINUTES_KEPT})


FORGOTTEN = delete(DeadlineCount).where(
    col(DeadlineCount.span) == Span.MINUTE, col(DeadlineCount.begins_at) < bindparam("oldest", type_=UtcDateTime)
)


def _keys(
    season_id: int, command: str, machine: int, at: datetime, *, ruled: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Yield the keys of the rows to which a prompt belongs, in the order in which all workers lock them."""
    for span in Span:
        yield dict(zip(KEY, (span, began(span, at), season_id, command, machine, ruled), strict=True))
