"""Stores the outcome of a series: results, data that only authors see, and the attempts at its matches.

It is part of the transaction that closes the attempt at the series
(`league.service.series.carrying_out.finish_series`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Update, bindparam, text
from sqlalchemy import select as columns
from sqlmodel import Session, SQLModel, col, exists, func, select

from deadheat.engine.core import NS_PER_S, STDERR_KEPT_BYTES
from deadheat.league.causes import Cause
from deadheat.league.jobs import Latency, MatchOutcome, SeriesJob
from deadheat.league.service.ground.steps import (
    evidence_json,
    insert_rows,
    set_by_key,
    storable,
    storable_tail,
    storable_word,
    update_rows,
    updating,
)
from deadheat.league.service.series.hosts import HERE, told_of
from deadheat.league.service.series.response_times import add_response_times
from deadheat.league.states import UNRATED, MatchState, Purpose
from deadheat.league.tables import (
    Attempt,
    Ending,
    LatencySummary,
    LiveMatch,
    Machine,
    Match,
    Participant,
    SeasonRules,
    Series,
    UtcDateTime,
    WorkerHost,
)
from deadheat.sandbox.box import Exit


@dataclass(frozen=True, slots=True)
class About:
    """A series that ends, and the machine that played it. If an author asked for the series (`asked`), it counts in no
    ranking and in no figure of a bot. `shown`: spectators could watch one of its matches. `rules_version`: the newest
    that was played in its season. `machine`: the number of the machine.
    """

    season_id: int
    purpose: Purpose
    started_at: datetime | None
    asked: bool
    shown: bool
    rules_version: int | None
    machine: int | None
    unfit_at: datetime | None
    reasons: Sequence[str]


ABOUT = (
    columns(
        col(Series.season_id),
        col(Series.purpose),
        col(Series.started_at),
        exists().where(col(Match.series_id) == col(Series.id), col(Match.asked).is_not(None)),
        exists().where(col(LiveMatch.series_id) == col(Series.id)),
        columns(func.max(SeasonRules.rules_version))
        .where(col(SeasonRules.season_id) == col(Series.season_id))
        .scalar_subquery(),
        columns(col(Machine.id)).where(col(Machine.name) == bindparam("host_name")).scalar_subquery(),
        col(WorkerHost.unfit_at),
        col(WorkerHost.reasons),
    )
    .outerjoin_from(Series, WorkerHost, HERE)
    .where(col(Series.id) == bindparam("series_id"))
)


def about_series(session: Session, job: SeriesJob) -> About:
    session.flush()
    return About(*session.connection().execute(ABOUT, {"series_id": job.series_id, **told_of(session, job.host)}).one())


def write_outcomes(
    session: Session, job: SeriesJob, worker: str, about: About, outcomes: Sequence[MatchOutcome], at: datetime
) -> None:
    may_rate = about.purpose not in UNRATED
    results = [outcome for outcome in outcomes if outcome.result is not None]
    if results:
        _write_results(session, job, results, at, may_rate=may_rate)
        _write_details(session, results)
        if not about.asked:
            add_response_times(session, about.season_id, job, results)
        known = (about.rules_version, None)
        versions = sorted({out.rules_version for out in results if out.rules_version not in known})
        if may_rate and versions:
            rows = [{"season_id": about.season_id, "rules_version": version, "first_at": at} for version in versions]
            session.connection().execute(_NOTE_RULES, rows)
    _write_ledger(session, job, worker, about.season_id, outcomes)


_NOTE_RULES = text(
    "INSERT INTO season_rules (season_id, rules_version, first_at) VALUES (:season_id, :rules_version, :first_at)"
    " ON CONFLICT DO NOTHING"
).bindparams(bindparam("first_at", type_=UtcDateTime))


def rules_played(session: Session, season_ids: Sequence[int]) -> list[SeasonRules]:
    """Return the versions of the rules under which these seasons were played, by season and version. They come from the
    transcripts: today's code says nothing about the rules of last year's season.
    """
    return list(session.exec(PLAYED, params={"seasons": season_ids}))


PLAYED = (
    select(SeasonRules)
    .where(col(SeasonRules.season_id).in_(bindparam("seasons", expanding=True)))
    .order_by(col(SeasonRules.season_id), col(SeasonRules.rules_version))
)


def _write_results(
    session: Session, job: SeriesJob, outcomes: Sequence[MatchOutcome], at: datetime, *, may_rate: bool
) -> None:
    seated = {match.match_id: match.seats for match in job.matches}
    matches = []
    participants = []
    for outcome in outcomes:
        result = outcome.result
        assert result is not None and outcome.transcript_sha256 is not None, "a result has a transcript"
        matches.append(
            {
                "id": outcome.match_id,
                "state": MatchState.DONE,
                "rated": may_rate and result.rated,
                "transcript_sha256": outcome.transcript_sha256,
                "comeback": outcome.comeback,
                "finished_at": at,
            }
        )
        faults = {fault.seat: fault for fault in outcome.faults}
        for seat, rank in enumerate(result.ranks):
            fault = faults.get(seat)
            participants.append(
                {
                    "match_id": outcome.match_id,
                    "seat": seat,
                    "player": job.programs[seated[outcome.match_id][seat]].label,
                    "rank": rank,
                    "points": None if result.points is None else str(result.points[seat]),  # "p/q", or a whole number
                    "fault": result.faults.get(seat),
                    "fault_command": fault and storable_word(fault.command),
                    "fault_elapsed_ms": fault and fault.elapsed_ms,
                    "fault_why": fault and storable(fault.why),
                    "finished_at": at,
                }
            )
    set_by_key(session, Match, ("id",), matches)
    stored = set_by_key(session, Participant, ("match_id", "seat"), participants)
    assert stored == len(participants), "what the job says was read from the database"


def _write_details(session: Session, outcomes: Sequence[MatchOutcome]) -> None:
    endings = [
        {
            "match_id": outcome.match_id,
            "seat": seat,
            **_columns(Ending, end),
            "stderr": storable_tail(end.stderr.decode("utf-8", "replace"), STDERR_KEPT_BYTES),
        }
        for outcome in outcomes
        for seat, end in outcome.exits.items()
    ]
    latencies = [
        {"match_id": outcome.match_id, **_columns(LatencySummary, latency), "command": storable_word(latency.command)}
        for outcome in outcomes
        for latency in outcome.latencies
    ]
    played = {
        (out.match_id, seat) for out in outcomes if out.result is not None for seat in range(len(out.result.ranks))
    }
    assert {(row["match_id"], row["seat"]) for row in (*endings, *latencies)} <= played, "these have no foreign keys"
    insert_rows(session, Ending, endings)
    insert_rows(session, LatencySummary, latencies)


def _columns(table: type[SQLModel], measured: Exit | Latency) -> dict[str, object]:
    """Return the fields of a measured value for which a table has columns of the same names."""
    kind: Any = type(measured)
    return {name: getattr(measured, name) for name in _shared(table, kind)}


@cache
def _shared(table: type[SQLModel], kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.name in table.model_fields)


def _write_ledger(
    session: Session, job: SeriesJob, worker: str, season_id: int, outcomes: Sequence[MatchOutcome]
) -> None:
    """Add attempts at matches to the ledger, each with its seed's number. After a void one, the next seed is used."""
    judge: Mapping[str, object] = {Cause.HOST_UNFIT: list(job.unfit)} if job.unfit else {}
    seeds = {match.match_id: match.attempt for match in job.matches}
    ledger = [
        {
            "season_id": season_id,
            "series_id": job.series_id,
            "match_id": outcome.match_id,
            "attempt": job.attempt,
            "seed_number": seeds[outcome.match_id] + before,
            "worker": worker,
            "cause": storable_word(attempt.cause),
            "detail": storable(attempt.detail),
            "evidence": evidence_json({**attempt.evidence, **judge}),
            "started_at": _instant(attempt.started_at_ns),
            "finished_at": _instant(attempt.finished_at_ns),
        }
        for outcome in outcomes
        for before, attempt in enumerate(outcome.attempts)
    ]
    insert_rows(session, Attempt, ledger)
    for outcome in outcomes:
        if voids := sum(attempt.cause != Cause.PLAYED for attempt in outcome.attempts):
            next_seed(session, voids, id=outcome.match_id)


def next_seed(session: Session, steps: int, **which: object) -> None:
    """Give tried matches a later seed of their lists, so that nothing learnt from the attempt helps (ruling C-16).
    `which`: the values of columns that these matches have.
    """
    update_rows(session, _later(*which), which, steps=steps)


@cache
def _later(*which: str) -> Update:
    return updating(Match, *which).values(attempt=Match.attempt + bindparam("steps"))


def _instant(unix_ns: int) -> datetime:
    return datetime.fromtimestamp(unix_ns / NS_PER_S, UTC)
