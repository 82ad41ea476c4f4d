"""Response times by version, season and command, added up when series end, so that pages need not add.

Several workers finish series of the same versions at once. Each locks the rows that it adds to, or makes, in the same
order, so there is no deadlock.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.league.jobs import Latency, MatchOutcome, SeriesJob
from deadheat.league.service.ground.steps import insert_or_add, set_by_key, storable_word
from deadheat.league.tables import ResponseTimes
from deadheat.league.time_buckets import Counts, added, bars, percentile, stored_sum

KEY = ("season_id", "version_id", "command")


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
    rows = [
        {
            "season_id": season_id,
            "version_id": version,
            "command": command,
            "limit_ns": max(latency.limit_ns for latency in latencies),
            "prompts": sum(latency.prompts for latency in latencies),
            "total_ns": sum(latency.total_ns for latency in latencies),
            "worst_ns": max(latency.worst_ns for latency in latencies),
            "counts": {},
        }
        for (version, command), latencies in sorted(parts.items())
    ]
    changed = [
        {
            **row,
            "counts": stored_sum(row["counts"], *(part.counts for part in parts[row["version_id"], row["command"]])),
        }
        for row in insert_or_add(session, ResponseTimes, KEY, rows, largest=["limit_ns", "worst_ns"], kept=["counts"])
    ]
    set_by_key(session, ResponseTimes, KEY, changed)


def command_times(session: Session, season_id: int, version_ids: Iterable[int]) -> list[CommandTimes]:
    """Return the combined response times of these versions, by command."""
    of_them = (ResponseTimes.season_id == season_id, col(ResponseTimes.version_id).in_([*version_ids]))
    times = session.exec(select(ResponseTimes).where(*of_them).order_by(col(ResponseTimes.command))).all()
    found = []
    for command, same in groupby(times, attrgetter("command")):
        parts = [*same]
        counts = added(_counts(row.counts) for row in parts)
        prompts = sum(row.prompts for row in parts)
        found.append(
            CommandTimes(
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
        )
    return found


def latency_by_version(session: Session, season_id: int) -> dict[str, dict[str, Any]]:
    """Return `p99` and `bars` of each version over all commands, as shares of the limit, for the leaderboard."""
    parts: dict[int, list[Counts]] = {}
    for version_id, counts in session.exec(IN_SEASON, params={"season": season_id}):
        parts.setdefault(version_id, []).append(_counts(counts))
    return {
        str(version_id): {"p99": percentile(total, 0.99), "bars": bars(total)}
        for version_id, total in ((version_id, added(some)) for version_id, some in parts.items())
        if total
    }


IN_SEASON = select(ResponseTimes.version_id, ResponseTimes.counts).where(ResponseTimes.season_id == bindparam("season"))


def _counts(stored: Mapping[str, int]) -> Counts:
    return {int(place): count for place, count in stored.items()}
