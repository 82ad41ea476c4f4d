"""A series on its way through a worker: claimed, kept, finished exactly once, or given back.

Theory of operation
-------------------
A series has the life of any job (`league.service.ground.life`). A message says that something waits, and
`league.service.series.turns` says which series is next. The statement that claims a series also checks that the machine
may judge (see `league.service.series.hosts`), and `finish_series` closes the row in the same transaction that writes
every result.

If the service fails at a match, the attempt at its series ends. Matches played before it count, so that nobody can undo
a loss by making a later match fail; the others go back to the queue, for new boxes and, if there is one, another
machine. Each attempt has the next seed of the match's list (`Match.attempt`, `engine.chance.attempt_seed`). A match
that fails too often, or twice while the same seat was to answer, is held: an organiser decides
(`league.service.rulings.rulings`).

So each match gets its result from exactly one attempt; every other attempt only leaves rows in the table `attempt`.
Nothing in this file costs a bot anything.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Update, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, select, update

from deadheat.engine.core import Fault
from deadheat.engine.games.folder import Identity
from deadheat.league.causes import BLAMELESS, Cause, Trait
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Failure, Host, MatchJob, MatchOutcome, ProgramRef, SeriesJob
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.life import Life, failures_before, note
from deadheat.league.service.ground.steps import touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.series.deadlines import count_deadlines
from deadheat.league.service.series.games import closed_to, games_here
from deadheat.league.service.series.hosts import (
    HERE,
    blame_host,
    count_series,
    found_unfit,
    may_judge,
    others_judge,
    told_of,
    welcome,
    why_unfit,
)
from deadheat.league.service.series.live import forget
from deadheat.league.service.series.outcomes import about_series, next_seed, write_outcomes
from deadheat.league.states import JobState, MatchState, allowed
from deadheat.league.tables import Attempt, Bot, BotVersion, Match, Participant, Season, Series, User, WorkerHost
from deadheat.league.verification.agreement import player

log = logging.getLogger(__name__)

SERIES_ATTEMPTS = 5
"""Failed attempts at a series after which an organiser decides on its matches."""

MOST_BLAMELESS = 2  # count for the pause, because when a cause that is not a series' own ends, all can play at once

SAME_SEAT = 2
"""After this many void attempts at one match while the same seat was to answer, an organiser must decide."""

SERIES = Life(
    "play", Series, JobState.QUEUED, JobState.RUNNING, longest_pause=timedelta(minutes=1), counted=(JobState.ABANDONED,)
)
"""The cause of a series' failure may pass at any time, so the series is tried at least once a minute."""


def claim_series(
    session: Session, series_id: int, worker: str, host: Host, virtual_start: int | None = None
) -> SeriesJob | None:
    """Claim a waiting series, with its virtual start if it takes its season's turn. Return None if it does not exist or
    does not wait, if another worker was faster, or if the worker's machine may not judge or its game differs from the
    API's.
    """
    at, claiming = now(session), _claiming(games_here(), settings_of(session).judge_unfit)
    begun: dict[str, object] = {"started_at": at}
    if virtual_start is not None:
        begun["virtual_start"] = virtual_start
    taken = SERIES.claim(session, claiming, series_id, worker, **begun, **told_of(session, host))
    return series_job(session, series_id, host, at) if taken else None


@cache
def _claiming(games: tuple[Identity, ...], judge_unfit: bool) -> Update:
    known = col(Series.season_id).not_in(closed_to(games))
    return SERIES.claiming(may_judge(judge_unfit), welcome(judge_unfit), known)


def renew_series(session: Session, job: SeriesJob) -> bool:
    """Prolong the lease. Return False if it is lost and the worker should stop."""
    return SERIES.renew(session, job.series_id, job.attempt)


def finish_series(
    session: Session,
    job: SeriesJob,
    worker: str,
    outcomes: Sequence[MatchOutcome],
    failure: Failure | None = None,
) -> bool:
    """Store the results of a series. Return False if it was too late and nothing was changed, or if the machine has
    been found unfit and none of its results counts.

    `outcomes`: those of the tried matches. `failure`: why the series could not continue. Matches without a result then
    return to the queue, and those that an organiser must see first are held.
    """
    wanted = {match.match_id for match in job.matches}
    assert {outcome.match_id for outcome in outcomes} <= wanted and len(outcomes) <= len(wanted)
    about = about_series(session, job)
    reasons = found_unfit(session, about.started_at, about.unfit_at, about.reasons)
    if reasons:
        failure = Failure(Cause.HOST_UNFIT, " ".join(reasons))
        outcomes = [out for out in outcomes if out.result is None]
    if failure is not None:
        blame_host(session, job.host, failure.cause, failure.detail)
    for match_id, attempt in ((out.match_id, attempt) for out in outcomes for attempt in out.attempts):
        if Trait.CONDEMNS in Cause(attempt.cause).traits:  # other void attempts were followed by another attempt there
            blame_host(session, job.host, attempt.cause, attempt.detail, match_id)
    on_hold = [out.match_id for out in outcomes if out.result is None and _must_be_seen(session, out)]
    left = wanted - {out.match_id for out in outcomes if out.result is not None} - set(on_hold)
    failure = failure if left else None
    at = now(session)
    after = _close(session, job.series_id, job.attempt, at, failure, job.host.name if left else None)
    if after is None:
        log.info("series %d: attempt %d came too late, its results are dropped", job.series_id, job.attempt)
        return False
    if about.shown:
        forget(session, job.series_id)
    write_outcomes(session, job, worker, about, outcomes, at)
    _hold(session, on_hold)
    if failure is not None:
        _note_failure(session, job.series_id, job.attempt, worker, failure, after, at)
    if outcomes:
        count_series(
            session, job.host, sum(attempt.cause != Cause.PLAYED for out in outcomes for attempt in out.attempts)
        )
        if not about.asked:
            _tell_of_faults(session, job, about.season_id, outcomes)
            count_deadlines(session, about.season_id, about.machine or 0, outcomes, at)
            touch_log(session, about.season_id)
    return not reasons


def _tell_of_faults(session: Session, job: SeriesJob, season_id: int, outcomes: Sequence[MatchOutcome]) -> None:
    seated = {match.match_id: match.seats for match in job.matches}
    first: dict[int, tuple[int, Fault]] = {}
    for outcome in outcomes:
        for seat, fault in outcome.result.faults.items() if outcome.result is not None else ():
            first.setdefault(seated[outcome.match_id][seat], (outcome.match_id, fault))
    for version_id, (match_id, fault) in sorted(first.items()):
        notices.version_failed(session, season_id, version_id, match_id, fault)


def give_back_series(session: Session, series_id: int, attempt: int, worker: str | None, failure: Failure) -> bool:
    """Take a series back from a worker that no longer reports. Return False if it was too late."""
    at = now(session)
    after = _close(session, series_id, attempt, at, failure, (worker or "").rpartition(":")[0])
    if after is None:
        return False
    forget(session, series_id)
    _note_failure(session, series_id, attempt, worker, failure, after, at)
    return True


def _close(
    session: Session, series_id: int, attempt: int, at: datetime, failure: Failure | None, host: str | None
) -> JobState | None:
    """End an attempt at a series. The series is done, returns to the queue, or is abandoned after too many failures
    that it may have caused itself. `host`: the machine, if matches are left. Return None if it is too late.
    """
    failures = spoiled = 0  # attempts that failed as a whole, and how many of them the series may have caused
    if failure is not None and failure.cause != Cause.WORKER_STOPPED:
        before = failures_before(session, col(Attempt.series_id) == series_id, col(Attempt.match_id).is_(None))
        failures = before.total() + 1
        if failure.cause in BLAMELESS:
            failures = min(failures, MOST_BLAMELESS)
        else:
            spoiled = sum(count for cause, count in before.items() if cause not in BLAMELESS) + 1
    if spoiled >= SERIES_ATTEMPTS:
        after = JobState.ABANDONED
    else:
        after = JobState.DONE if host is None else JobState.QUEUED
    if after is JobState.QUEUED:
        if failure is None and not others_judge(session, host or ""):
            failures = 1  # a match was void, and no other machine can take the rest at once
        stopped = failure is not None and failure.cause == Cause.WORKER_STOPPED
        kept = {"queued_at": col(Series.queued_at)} if stopped else {}
        taken = SERIES.give_back(session, series_id, attempt, failures, avoid_host=None if stopped else host, **kept)
    else:
        taken = SERIES.end(session, series_id, attempt, after, finished_at=at)
    return after if taken else None


def _note_failure(
    session: Session,
    series_id: int,
    attempt: int,
    worker: str | None,
    failure: Failure,
    after: JobState,
    at: datetime,
) -> None:
    """Add a series that failed as a whole to the ledger. Its matches get new dice, or are held if it is abandoned."""
    season_id, started_at = session.exec(STARTED, params={"series_id": series_id}).one()
    about = {"season_id": season_id, "series_id": series_id, "started_at": started_at}
    note(session, attempt, failure, at, worker=worker, **about)
    next_seed(session, 1, series_id=series_id, state=MatchState.SCHEDULED)
    if after is JobState.ABANDONED:
        data = {"cause": failure.cause, "attempts": attempt}
        record(session, SYSTEM, "series-abandoned", f"series/{series_id}", data)
        log.error("series %d abandoned after %d attempts: %s: %s", series_id, attempt, failure.cause, failure.detail)
        left = select(Match.id).where(Match.series_id == series_id, Match.state == MatchState.SCHEDULED)
        _hold(session, session.exec(left).all())
        touch_log(session, season_id)


STARTED = select(Series.season_id, Series.started_at).where(col(Series.id) == bindparam("series_id"))


def _must_be_seen(session: Session, outcome: MatchOutcome) -> bool:
    """Say whether an organiser must look at a match before it is repeated: too many attempts at it were void, or two of
    them while the same seat was to answer. A bot that causes void attempts gains nothing, and is noticed.
    """
    before = session.exec(
        select(Attempt.evidence).where(Attempt.match_id == outcome.match_id, Attempt.cause != Cause.PLAYED)
    )
    evidence = [*before, *(attempt.evidence for attempt in outcome.attempts)]
    seats = Counter(piece["seat"] for piece in evidence if piece.get("seat") is not None)
    return len(evidence) >= settings_of(session).match_attempts or max(seats.values(), default=0) >= SAME_SEAT


def _hold(session: Session, match_ids: Sequence[int]) -> None:
    """Hold these matches until an organiser decides."""
    if not match_ids:
        return
    assert allowed(MatchState.SCHEDULED, MatchState.HELD)
    session.exec(update(Match).where(col(Match.id).in_(match_ids)).values(state=MatchState.HELD))
    for match_id in match_ids:
        record(session, SYSTEM, "match-held", f"match/{match_id}")
    log.error("held until an organiser decides, because the service failed too often: matches %s", list(match_ids))


CLAIMED = (
    columns(
        col(Series.attempt),
        col(Series.queued_at),
        col(Series.season_id),
        col(Season.game),
        col(Season.variant),
        col(WorkerHost.fitness),
        col(WorkerHost.reasons),
    )
    .join_from(Series, Season, col(Season.id) == col(Series.season_id))
    .outerjoin(WorkerHost, HERE)
    .where(col(Series.id) == bindparam("series_id"))
)
_SEATS: Any = (
    columns(col(Match.id), col(Match.seed), col(Match.attempt), col(Participant.version_id))
    .join(Participant, col(Participant.match_id) == Match.id)
    .order_by(col(Match.number), col(Participant.seat))
)
SEATED = _SEATS.where(col(Match.series_id) == bindparam("series_id"), col(Match.state) == MatchState.SCHEDULED)
PLAYED = _SEATS.where(col(Match.id) == bindparam("match_id"))
PROGRAMS: Any = (
    columns(
        col(BotVersion.id),
        col(BotVersion.number),
        col(BotVersion.program_sha256),
        col(BotVersion.language),
        col(BotVersion.entry),
        col(Bot.name).label("bot"),
        col(User.name).label("author"),
    )
    .join(Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .where(col(BotVersion.id).in_(bindparam("version_ids", expanding=True)))
)


def series_job(session: Session, series_id: int, host: Host, at: datetime, again: int | None = None) -> SeriesJob:
    """Return a series as the worker on that machine is to carry it out: its matches that are not over, or one that is
    played `again`.
    """
    series = session.connection().execute(CLAIMED, {"series_id": series_id, **told_of(session, host)}).one()
    seats: dict[tuple[int, bytes, int], list[int]] = {}
    which = {"series_id": series_id} if again is None else {"match_id": again}
    for match_id, seed, nth, version_id in session.connection().execute(SEATED if again is None else PLAYED, which):
        seats.setdefault((match_id, seed, nth), []).append(version_id)
    return SeriesJob(
        series_id=series_id,
        attempt=series.attempt,
        game=series.game,
        programs=programs_of(session, {version for seated in seats.values() for version in seated}),
        matches=tuple(MatchJob(match_id, seed, tuple(seated), nth) for (match_id, seed, nth), seated in seats.items()),
        host=host,
        unfit=why_unfit(series.fitness, series.reasons),
        waited_seconds=(at - series.queued_at).total_seconds(),
        season_id=series.season_id,
        variant=series.variant,
    )


def programs_of(session: Session, version_ids: set[int]) -> dict[int, ProgramRef]:
    """Return the programs of these versions, which are ready."""
    programs = {}
    session.flush()
    for version in session.connection().execute(PROGRAMS, {"version_ids": sorted(version_ids)}):
        assert version.program_sha256 is not None, "only versions that are ready are paired"
        label = player(version.author, version.bot, version.number)
        programs[version.id] = ProgramRef(version.id, label, version.program_sha256, version.language, version.entry)
    return programs
