"""Response times by version, season and command, added up when series end, so that pages need not add.

Several workers finish series of the same versions at once. Each locks the rows that it adds to in the same order, so
there is no deadlock. A missing row is created empty before any is locked: its creation may have to wait for a worker
that waits for a lock.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, text
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat.league.jobs import Latency, MatchOutcome, SeriesJob
from deadheat.league.service.ground.steps import set_by_key, storable_word
from deadheat.league.tables import ResponseTimes
from deadheat.league.time_buckets import Counts, added, bars, percentile

_MAKE = text(
    "INSERT INTO response_times (season_id, version_id, command, limit_ns, prompts, total_ns, worst_ns, counts)"
    " VALUES (:season_id, :version_id, :command, 0, 0, 0, 0, '{}') ON CONFLICT DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class CommandTimes:
    """A version's answers to one command. `p50`, `p99`: shares of the limit, or None from before these were counted."""

    command: str
    limit_ns: int
    prompts: int
    mean_ns: int
    worst_ns: int
    p50: float | None
    p99: float | None
    bars: list[int]
    counts: Counts


def add_response_times(session: Session, season_id: int, job: SeriesJob, outcomes: Sequence[MatchOutcome]) -> None:
    seats = {match.match_id: match.seats for match in job.matches}
    parts: dict[tuple[int, str], list[Latency]] = {}
    for outcome in outcomes:
        for latency in outcome.latencies:
            key = (seats[outcome.match_id][latency.seat], storable_word(latency.command))
            parts.setdefault(key, []).append(latency)
    if not parts:
        return
    chosen = {"season_id": season_id, "version_ids": sorted({version for version, _ in parts})}
    known = {(version, command) for version, command in session.connection().execute(_KNOWN, chosen)}
    if new := sorted(parts.keys() - known):
        keys = [{"season_id": season_id, "version_id": version, "command": command} for version, command in new]
        session.connection().execute(_MAKE, keys)
    rows = {(row.version_id, row.command): row for row in session.connection().execute(_LOCKED, chosen)}
    changed = [_changed(rows[key], latencies) for key, latencies in sorted(parts.items())]
    set_by_key(session, ResponseTimes, ("season_id", "version_id", "command"), changed)


_OF_THEM = (
    col(ResponseTimes.season_id) == bindparam("season_id"),
    col(ResponseTimes.version_id).in_(bindparam("version_ids", expanding=True)),
)
_KNOWN = columns(col(ResponseTimes.version_id), col(ResponseTimes.command)).where(*_OF_THEM)
_ROWS = columns(*ResponseTimes.__table__.c).where(*_OF_THEM)  # type: ignore[attr-defined]
_LOCKED = _ROWS.order_by(col(ResponseTimes.version_id), col(ResponseTimes.command)).with_for_update()
TIMES = _ROWS.order_by(col(ResponseTimes.command))


def command_times(session: Session, season_id: int, version_ids: Iterable[int]) -> list[CommandTimes]:
    """Return the combined response times of these versions, by command."""
    chosen = {"season_id": season_id, "version_ids": list(version_ids)}
    rows: dict[str, list[Row[*tuple[Any, ...]]]] = {}
    for row in session.connection().execute(TIMES, chosen) if chosen["version_ids"] else ():
        rows.setdefault(row.command, []).append(row)
    return [_view(command, parts) for command, parts in rows.items()]


def latency_by_version(session: Session, season_id: int) -> dict[str, dict[str, Any]]:
    """Return the response times for the leaderboard, over all commands: `p99` and `bars` of shares of the limit
    (`league.time_buckets`).
    """
    parts: dict[int, list[Counts]] = {}
    for version_id, counts in session.exec(IN_SEASON, params={"season": season_id}):
        parts.setdefault(version_id, []).append(_counts(counts))
    return {
        str(version_id): {"p99": percentile(total, 0.99), "bars": bars(total)}
        for version_id, total in ((version_id, added(some)) for version_id, some in parts.items())
        if total
    }


IN_SEASON = select(ResponseTimes.version_id, ResponseTimes.counts).where(
    col(ResponseTimes.season_id) == bindparam("season")
)


def _changed(row: Row[*tuple[Any, ...]], latencies: Sequence[Latency]) -> dict[str, Any]:
    counts = added([_counts(row.counts), *(latency.counts for latency in latencies)])
    return {
        "season_id": row.season_id,
        "version_id": row.version_id,
        "command": row.command,
        "limit_ns": max(row.limit_ns, *(latency.limit_ns for latency in latencies)),
        "prompts": row.prompts + sum(latency.prompts for latency in latencies),
        "total_ns": row.total_ns + sum(latency.total_ns for latency in latencies),
        "worst_ns": max(row.worst_ns, *(latency.worst_ns for latency in latencies)),
        "counts": {str(place): count for place, count in sorted(counts.items())},
    }


def _view(command: str, parts: Sequence[Row[*tuple[Any, ...]]]) -> CommandTimes:
    counts = added(_counts(row.counts) for row in parts)
    prompts = sum(row.prompts for row in parts)
    return CommandTimes(
        command=command,
        limit_ns=max(row.limit_ns for row in parts),
        prompts=prompts,
        mean_ns=sum(row.total_ns for row in parts) // max(1, prompts),
        worst_ns=max(row.worst_ns for row in parts),
        p50=percentile(counts, 0.5),
        p99=percentile(counts, 0.99),
        bars=bars(counts),
        counts=counts,
    )


def _counts(stored: Mapping[str, int]) -> Counts:
    return {int(place): count for place, count in stored.items()}
