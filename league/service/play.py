"""A series on its way through a worker: claimed, kept, finished exactly once, or given back.

Theory of operation
-------------------
The queue's messages may be lost, doubled or late; nothing here trusts them. A message names a series, and

* `claim_series` turns `queued` into `running` by compare-and-set, raises `attempt` and takes a lease. A second
  delivery finds the row running and gets None. So does a machine that may not judge: that it may is a condition of
  the same statement (see `league.service.workers`).
* The worker renews the lease while it plays. When it dies, `league.service.sweep` finds the lease expired and puts
  the row back; whoever claims it next has a higher attempt.
* `finish_series` first closes the row by compare-and-set on id, state *and attempt*, in the same transaction that
  writes every result. A worker that was paused and comes late has an old attempt number: it changes nothing.

So each match gets its result from exactly one attempt; every other attempt ends as rows of the ledger. Bots pay for
nothing in this file.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

from sqlmodel import Session, col, func, select, update

from engine.core import NS_PER_S, Points
from league.database import now, settings_of
from league.jobs import AttemptRecord, Host, MatchJob, MatchOutcome, ProgramRef, SeriesJob
from league.service.audit import SYSTEM, record
from league.service.live import forget
from league.service.response_times import add_response_times
from league.service.rules_played import note_rules
from league.service.steps import insert_rows, move, touch_log
from league.service.storable import evidence_json, storable, storable_tail
from league.service.told import HOST_UNFIT
from league.service.workers import count_series, doubt_host, found_unfit, may_judge, unfit_reasons
from league.states import MatchState, Purpose, SeriesState
from league.tables import (
    Attempt,
    Bot,
    BotVersion,
    Ending,
    LatencySummary,
    Match,
    Pair,
    Participant,
    Season,
    Series,
    User,
    VoidedMatch,
)

log = logging.getLogger(__name__)

PLAYED = "played"
"""The cause of the one attempt at a match that became its result."""

BROKEN_HOST = frozenset({"engine", "no-engine", "no-image", "no-runtime"})
"""Causes that say of a machine that nothing can be played there at present."""

HANDED_BACK = "worker-stopped"
"""The cause of a series whose worker was told to end (see `workers.stopping`); others may play it at once."""

BLAMELESS = BROKEN_HOST | {HANDED_BACK, HOST_UNFIT, "blobs-away", "database-away"}
"""Causes that say nothing about the series: the next one would have failed as well. It waits until they have passed,
however long that takes; whatever else goes wrong may be its own doing, and it is given up after some attempts."""

LONGEST_PAUSE = timedelta(minutes=1)
"""Between two tries at a series that we fail: what made us fail may be over at any time."""


def claim_series(session: Session, series_id: int, worker: str, host: Host) -> SeriesJob | None:
    """Take a series that waits; None: it does not exist, does not wait, another worker was quicker, or the worker's
    machine may not judge.
    """
    at = now(session)
    taken = move(
        session,
        Series,
        series_id,
        SeriesState.QUEUED,
        SeriesState.RUNNING,
        may_judge(session, host),
        attempt=Series.attempt + 1,
        worker=worker,
        lease_until=at + timedelta(seconds=settings_of(session).lease_seconds),
        started_at=at,
    )
    return _job(session, series_id, host, at) if taken else None


def renew_series(session: Session, job: SeriesJob) -> bool:
    """Prolong the lease; False: it is lost, and the worker should stop."""
    held = (
        col(Series.id) == job.series_id,
        col(Series.attempt) == job.attempt,
        col(Series.state) == SeriesState.RUNNING,
    )
    until = now(session) + timedelta(seconds=settings_of(session).lease_seconds)
    return session.exec(update(Series).where(*held).values(lease_until=until)).rowcount == 1


def finish_series(session: Session, job: SeriesJob, worker: str, outcomes: Sequence[MatchOutcome]) -> bool:
    """Write every result of the series; False: too late, nothing was changed, or the machine was found unfit
    meanwhile, and the series is played again.

    `outcomes` has one outcome for each match of the job.
    """
    wanted = {match.match_id for match in job.matches}
    assert {outcome.match_id for outcome in outcomes} == wanted and len(outcomes) == len(wanted)
    at = now(session)
    if reasons := found_unfit(session, job):
        voids = [(outcome.match_id, attempt) for outcome in outcomes for attempt in outcome.attempts]
        release_series(session, job, worker, HOST_UNFIT, " ".join(reasons), {}, voids)
        return False
    mine = col(Series.attempt) == job.attempt
    if not move(
        session,
        Series,
        job.series_id,
        SeriesState.RUNNING,
        SeriesState.DONE,
        mine,
        lease_until=None,
        finished_at=at,
    ):
        log.info("series %d: attempt %d came too late, its results are dropped", job.series_id, job.attempt)
        return False
    forget(session, job.series_id)
    found = select(Series.season_id, Series.purpose).where(Series.id == job.series_id)
    season_id, purpose = session.exec(found).one()
    _write_results(session, outcomes, at, may_rate=purpose is not Purpose.CHALLENGE)
    _put_back(session, [outcome.match_id for outcome in outcomes if outcome.result is None])
    _write_details(session, outcomes)
    add_response_times(session, season_id, job, outcomes)
    if purpose is not Purpose.CHALLENGE:
        note_rules(session, season_id, outcomes, at)
    tried = [(outcome.match_id, attempt) for outcome in outcomes for attempt in outcome.attempts]
    _write_ledger(session, job, worker, season_id, tried)
    count_series(session, job.host, sum(attempt.cause != PLAYED for _, attempt in tried))
    for outcome in outcomes:
        if outcome.result is None:
            cause = outcome.attempts[-1].cause if outcome.attempts else "unknown"
            log.error("match %d abandoned: every attempt was void, the last by %s", outcome.match_id, cause)
    touch_log(session, season_id)
    return True


def release_series(
    session: Session,
    job: SeriesJob,
    worker: str,
    cause: str,
    detail: str,
    evidence: Mapping[str, object],
    tried: Sequence[tuple[int, AttemptRecord]] = (),
) -> int:
    """We failed: back to the queue for the sweeper to enqueue after a pause; nothing where the lease is lost. How many
    matches are given up because it failed too often.

    `tried` are attempts at its matches by id; those that were void stay in the ledger.
    """
    if cause in BROKEN_HOST:
        doubt_host(session, job.host)
    given_up = give_back_series(session, job.series_id, job.attempt, worker, cause, detail, evidence)
    if given_up is None:
        return 0
    season_id = session.exec(select(Series.season_id).where(Series.id == job.series_id)).one()
    voids = [(match_id, attempt) for match_id, attempt in tried if attempt.cause != PLAYED]
    _write_ledger(session, job, worker, season_id, voids)
    if voids:
        touch_log(session, season_id)  # the ranking tells their number
    return given_up


def give_back_series(
    session: Session,
    series_id: int,
    attempt: int,
    worker: str | None,
    cause: str,
    detail: str,
    evidence: Mapping[str, object],
) -> int | None:
    """Back to `queued`, or abandoned after too many attempts that it may have spoiled itself; noted in the ledger.
    How many matches are given up with it; None: too late.
    """
    settings = settings_of(session)
    at = now(session)
    mine = col(Series.attempt) == attempt
    if _spoiled(session, series_id) + (cause not in BLAMELESS) < settings.series_attempts:
        after = SeriesState.QUEUED
        seconds = 0 if cause == HANDED_BACK else settings.retry_seconds * attempt
        pause = min(timedelta(seconds=seconds), LONGEST_PAUSE)
        values: dict[str, Any] = {"queued_at": at, "nudge_at": at + pause, "worker": None}
    else:
        after = SeriesState.ABANDONED
        values = {"finished_at": at}
    if not move(session, Series, series_id, SeriesState.RUNNING, after, mine, lease_until=None, **values):
        return None
    forget(session, series_id)
    series = session.get_one(Series, series_id, populate_existing=True)
    note = Attempt(
        season_id=series.season_id,
        series_id=series_id,
        attempt=attempt,
        worker=worker,
        cause=storable(cause, 64),
        detail=storable(detail),
        evidence=evidence_json(evidence),
        started_at=series.started_at,
        finished_at=at,
    )
    session.add(note)
    if after is SeriesState.QUEUED:
        return 0
    given_up = abandon_matches(session, series_id, at)
    record(session, SYSTEM, "series-abandoned", f"series/{series_id}", {"cause": cause, "attempts": attempt})
    log.error("series %d abandoned after %d attempts: %s: %s", series_id, attempt, cause, detail)
    touch_log(session, series.season_id)
    return given_up


def _spoiled(session: Session, series_id: int) -> int:
    """Attempts at the series so far that failed as a whole, by a cause that may be its own."""
    of_series = (Attempt.series_id == series_id, col(Attempt.match_id).is_(None))
    counted = select(func.count()).select_from(Attempt).where(*of_series, col(Attempt.cause).not_in(BLAMELESS))
    return session.exec(counted).one()


def abandon_matches(session: Session, series_id: int, at: datetime) -> int:
    """No match of the series will be played any more; how many those are."""
    waiting = (col(Match.series_id) == series_id, col(Match.state) == MatchState.SCHEDULED)
    _put_back(session, session.exec(select(Match.id).where(*waiting)).all())
    return session.exec(update(Match).where(*waiting).values(state=MatchState.ABANDONED, finished_at=at)).rowcount


def _put_back(session: Session, abandoned: Sequence[int]) -> None:
    """A match whose repetition will not be played counts again: a result is never lost to a rejudgement. One that was
    void before it was to be repeated stays so.
    """
    if not abandoned:
        return
    for voided in session.exec(select(VoidedMatch).where(col(VoidedMatch.rejudged_id).in_(abandoned))).all():
        if voided.at < session.get_one(Match, voided.rejudged_id).created_at:
            voided.rejudged_id = None
            continue
        session.delete(voided)
        if session.get_one(Match, voided.match_id).state is MatchState.DONE:  # or both were abandoned
            data = {"season": voided.season_id, "reason": f"match {voided.rejudged_id} in its place was not played"}
            record(session, SYSTEM, "match-restored", f"match/{voided.match_id}", data)
    session.flush()


def drop_waiting(session: Session, season_id: int, cause: str, detail: str, *conditions: Any) -> None:
    """Abandon the season's series that nobody has begun and that meet the conditions, with a line in the ledger."""
    at = now(session)
    waiting = select(Series).where(Series.season_id == season_id, Series.state == SeriesState.QUEUED, *conditions)
    for series in session.exec(waiting).all():
        if not move(session, Series, series.id, SeriesState.QUEUED, SeriesState.ABANDONED, finished_at=at):
            continue  # a worker took it in this moment: it is played
        if series.purpose is not Purpose.CHALLENGE:
            _uncount(session, series)
        abandon_matches(session, series.id, at)
        session.add(
            Attempt(
                season_id=season_id,
                series_id=series.id,
                attempt=series.attempt,
                cause=cause,
                detail=detail,
                finished_at=at,
            )
        )


def _uncount(session: Session, series: Series) -> None:
    """Pairing forgets the games of a series that nobody began: whoever comes back gets them again."""
    waiting = (Match.series_id == series.id, Match.state == MatchState.SCHEDULED)
    repeated = col(Match.id).in_(select(VoidedMatch.rejudged_id).where(col(VoidedMatch.rejudged_id).is_not(None)))
    seated: dict[int, list[int]] = {}
    for match_id, version_id in session.exec(
        select(Participant.match_id, Participant.version_id)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(*waiting, ~repeated)  # a repetition was never counted
        .order_by(col(Participant.match_id), col(Participant.seat))
    ):
        seated.setdefault(match_id, []).append(version_id)
    for versions in seated.values():
        for one, other in combinations(versions, 2):
            low, high = min(one, other), max(one, other)
            pair = session.get(Pair, (series.season_id, low, high))
            if pair is not None and pair.games > 0:
                pair.games -= 1
                if len(versions) == 2:
                    pair.lead -= 1 if one == low else -1


def _job(session: Session, series_id: int, host: Host, at: datetime) -> SeriesJob:
    statement = select(Series, Season.game).join(Season, col(Season.id) == Series.season_id)
    series, game = session.exec(statement.where(Series.id == series_id)).one()
    matches = session.exec(
        select(Match.id, Match.seed)
        .where(Match.series_id == series_id, Match.state == MatchState.SCHEDULED)
        .order_by(col(Match.number))
    ).all()
    seats: dict[int, list[int]] = {match_id: [] for match_id, _ in matches}
    for match_id, version_id in session.exec(
        select(Participant.match_id, Participant.version_id)
        .where(col(Participant.match_id).in_(list(seats)))
        .order_by(col(Participant.match_id), col(Participant.seat))
    ):
        seats[match_id].append(version_id)
    return SeriesJob(
        series_id=series_id,
        attempt=series.attempt,
        game=game,
        programs=programs_of(session, {version for seated in seats.values() for version in seated}),
        matches=tuple(MatchJob(match_id, seed, tuple(seats[match_id])) for match_id, seed in matches),
        host=host,
        unfit=unfit_reasons(session, host),
        waited_seconds=(at - series.queued_at).total_seconds(),
        season_id=series.season_id,
    )


def programs_of(session: Session, version_ids: set[int]) -> dict[int, ProgramRef]:
    """The programs of these versions, which are ready."""
    statement = (
        select(BotVersion, Bot.name, User.name)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(col(BotVersion.id).in_(version_ids))
    )
    programs = {}
    for version, bot, author in session.exec(statement):
        assert version.program_sha256 is not None, "only versions that are ready are paired"
        label = f"{author}/{bot} v{version.number}"
        programs[version.id] = ProgramRef(version.id, label, version.program_sha256, version.language, version.entry)
    return programs


def _write_results(session: Session, outcomes: Sequence[MatchOutcome], at: datetime, *, may_rate: bool) -> None:
    matches = []
    participants = []
    for outcome in outcomes:
        result = outcome.result
        assert (result is None) == (outcome.transcript_sha256 is None), "a result has a transcript, and only a result"
        matches.append(
            {
                "id": outcome.match_id,
                "state": MatchState.ABANDONED if result is None else MatchState.DONE,
                "rated": may_rate and result is not None and result.rated,
                "transcript_sha256": outcome.transcript_sha256,
                "finished_at": at,
            }
        )
        if result is None:
            continue
        told = {fault.seat: fault for fault in outcome.faults}
        for seat, rank in enumerate(result.ranks):
            fault = told.get(seat)
            participants.append(
                {
                    "match_id": outcome.match_id,
                    "seat": seat,
                    "rank": rank,
                    "points": None if result.points is None else _points(result.points[seat]),
                    "fault": result.faults.get(seat),
                    "fault_command": fault and storable(fault.command, 64),
                    "fault_elapsed_ms": fault and fault.elapsed_ms,
                    "fault_why": fault and storable(fault.why),
                    "finished_at": at,
                }
            )
    session.execute(update(Match), matches)
    if participants:
        session.execute(update(Participant), participants)


def _write_details(session: Session, outcomes: Sequence[MatchOutcome]) -> None:
    limit = settings_of(session).stderr_limit_bytes
    endings = [
        {
            "match_id": outcome.match_id,
            "seat": ending.seat,
            "exit_code": ending.exit_code,
            "signal": ending.signal,
            "lingered": ending.lingered,
            "stderr": storable_tail(ending.stderr, limit),
            "cpu_ns": ending.cpu_ns,
            "peak_memory_bytes": ending.peak_memory_bytes,
        }
        for outcome in outcomes
        for ending in outcome.endings
    ]
    latencies = [
        {
            "match_id": outcome.match_id,
            "seat": latency.seat,
            "command": storable(latency.command, 64),
            "limit_ns": latency.limit_ns,
            "prompts": latency.prompts,
            "total_ns": latency.total_ns,
            "worst_ns": latency.worst_ns,
        }
        for outcome in outcomes
        for latency in outcome.latencies
    ]
    insert_rows(session, Ending, endings)
    insert_rows(session, LatencySummary, latencies)


def _write_ledger(
    session: Session, job: SeriesJob, worker: str, season_id: int, tried: Sequence[tuple[int, AttemptRecord]]
) -> None:
    """The attempts at matches, each with the id of its match."""
    judge = {HOST_UNFIT: list(job.unfit)} if job.unfit else {}
    ledger = [
        {
            "season_id": season_id,
            "series_id": job.series_id,
            "match_id": match_id,
            "attempt": job.attempt,
            "worker": worker,
            "cause": storable(attempt.cause, 64),
            "detail": storable(attempt.detail),
            "evidence": evidence_json({**attempt.evidence, **judge}),
            "started_at": _instant(attempt.started_at_ns),
            "finished_at": _instant(attempt.finished_at_ns),
        }
        for match_id, attempt in tried
    ]
    insert_rows(session, Attempt, ledger)


def _points(value: Points) -> str:
    return str(value)  # a Fraction's text is "p/q"


def _instant(unix_ns: int) -> datetime:
    return datetime.fromtimestamp(unix_ns / NS_PER_S, UTC)
