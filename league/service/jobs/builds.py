"""Building a version: claimed by one worker at a time, finished once.

The same scheme as for series (`league.service.series.carrying_out`): a claim is a compare-and-set that takes a lease
and raises the attempt's number, and whatever comes back names its attempt. Our failure puts the version back, and only
the build itself can break it. The pause before the next try doubles each time, up to `LONGEST_PAUSE`: a version that
takes down whoever builds it can do so once an hour. What a worker hands back because it is told to end is no failure.

A message says that there is something to build, not what: each upload brings one, and whoever gets it builds what is
next in fairness (`claim_next_build`). So who uploads a thousand versions waits for them, and nobody else does.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

from sqlmodel import Session, col, func, or_, select, update

from league.causes import Cause, told
from league.database import now, settings_of
from league.jobs import BuildJob, BuildOutcome
from league.service.ground.steps import move
from league.service.ground.storable import evidence_json, storable, storable_tail, storable_word
from league.service.seasons.entries import offer_version
from league.states import VersionState
from league.tables import Attempt, Bot, BotVersion

log = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=1)
"""Between two tries at a build that we fail again and again."""

FAILURES_TOLD = 5
"""After so many failures of ours at one build each is an operator's business; it is tried again all the same."""

RECENT = timedelta(hours=1)
"""For so long a finished build counts against its author's next one."""

REMEMBERED = timedelta(days=1)
"""Older uploads are not looked at when an author's recent builds are counted; what keeps that short."""

MOST_RACES = 20
"""How often a claim looks again when other workers were quicker, before it leaves the rest to them."""


def claim_next_build(session: Session, nudged_id: int, worker: str) -> BuildJob | None:
    """Take what should be built next, now that a message speaks of `nudged_id`; None: nothing waits.

    Next is the author with the fewest builds under way and lately finished, and of that author the oldest upload. What
    we failed at before is built by its own message alone, for its pause is in when that is sent.
    """
    again = (BotVersion.id == nudged_id, BotVersion.state == VersionState.UPLOADED, BotVersion.attempt > 0)
    if session.exec(select(BotVersion.id).where(*again)).first() is not None:
        return claim_build(session, nudged_id, worker)
    for _ in range(MOST_RACES):
        next_id = _next_in_fairness(session)
        if next_id is None:
            return None
        job = claim_build(session, next_id, worker)
        if job is not None:
            return job
    return None


def _next_in_fairness(session: Session) -> int | None:
    """The fresh upload to be built next. Reads one row for each author who waits, and their day's uploads."""
    author = func.coalesce(col(BotVersion.uploader_id), -col(BotVersion.bot_id))  # without one: before there were teams
    waits = (col(BotVersion.state) == VersionState.UPLOADED, col(BotVersion.attempt) == 0)
    oldest = session.exec(select(author, func.min(BotVersion.id)).where(*waits).group_by(author)).all()
    if not oldest:
        return None
    at = now(session)
    counted = (
        col(BotVersion.uploader_id).in_([person for person, _ in oldest if person > 0]),
        col(BotVersion.created_at) > at - REMEMBERED,
        or_(col(BotVersion.state) == VersionState.BUILDING, col(BotVersion.built_at) > at - RECENT),
    )
    builds = select(BotVersion.uploader_id, func.count()).where(*counted).group_by(col(BotVersion.uploader_id))
    recent: Mapping[int | None, int] = dict(session.exec(builds).all())
    return min(oldest, key=lambda waiting: (recent.get(waiting[0], 0), waiting[1]))[1]


def claim_build(session: Session, version_id: int, worker: str) -> BuildJob | None:
    """Take a version that waits; None: it does not exist, does not wait, or another worker was quicker."""
    at = now(session)
    taken = move(
        session,
        BotVersion,
        version_id,
        VersionState.UPLOADED,
        VersionState.BUILDING,
        attempt=BotVersion.attempt + 1,
        worker=worker,
        lease_until=at + timedelta(seconds=settings_of(session).lease_seconds),
    )
    if not taken:
        return None
    statement = select(BotVersion, Bot).join(Bot, col(Bot.id) == BotVersion.bot_id).where(BotVersion.id == version_id)
    version, bot = session.exec(statement).one()
    return BuildJob(
        version_id=version.id,
        attempt=version.attempt,
        game=bot.game,
        source_sha256=version.source_sha256,
        filename=version.filename,
        language=version.language,
        entry=version.entry,
        waited_seconds=(at - version.queued_at).total_seconds(),
    )


def renew_build(session: Session, job: BuildJob) -> bool:
    """Prolong the lease; False: it is lost, and the worker should stop."""
    until = now(session) + timedelta(seconds=settings_of(session).lease_seconds)
    return _change_held(session, job, lease_until=until)


def note_build_log(session: Session, job: BuildJob, log: str) -> bool:
    """Let the author see what the build has said so far; False: the lease is lost, nothing was changed."""
    return _change_held(session, job, log=storable_tail(log, settings_of(session).log_limit_bytes))


def _change_held(session: Session, job: BuildJob, **values: object) -> bool:
    held = (
        col(BotVersion.id) == job.version_id,
        col(BotVersion.attempt) == job.attempt,
        col(BotVersion.state) == VersionState.BUILDING,
    )
    return session.exec(update(BotVersion).where(*held).values(**values)).rowcount == 1


def finish_build(session: Session, job: BuildJob, outcome: BuildOutcome) -> bool:
    """Store how the build ended; False: too late, nothing was changed."""
    ready = outcome.program_sha256 is not None
    stored = move(
        session,
        BotVersion,
        job.version_id,
        VersionState.BUILDING,
        VersionState.READY if ready else VersionState.BROKEN,
        col(BotVersion.attempt) == job.attempt,
        lease_until=None,
        built_at=now(session),
        program_sha256=outcome.program_sha256,
        trial_sha256=outcome.trial_sha256,
        reason=storable(outcome.reason),
        log=storable_tail(outcome.log, settings_of(session).log_limit_bytes),
    )
    if stored and ready:
        offer_version(session, job.version_id)
    return stored


def release_build(session: Session, job: BuildJob, cause: str, detail: str) -> None:
    """We failed: back to the queue for the sweeper to enqueue after a pause; nothing where the lease is lost."""
    give_back_build(session, job.version_id, job.attempt, cause, detail, {})


def give_back_build(
    session: Session, version_id: int, attempt: int, cause: str, detail: str, evidence: Mapping[str, object]
) -> bool:
    """Back to `uploaded`, noted in the ledger. False: too late."""
    settings = settings_of(session)
    at = now(session)
    version = session.get(BotVersion, version_id)
    worker = version.worker if version is not None else None
    failures = _failures(session, version_id) + (cause != Cause.WORKER_STOPPED)
    pause, reason = timedelta(0), ""
    if cause != Cause.WORKER_STOPPED:
        pause = min(timedelta(seconds=settings.retry_seconds) * 2 ** min(failures - 1, 20), LONGEST_PAUSE)
        reason = f"Our own failure at attempt {attempt}, which is tried again: {told(cause, storable(detail))}"
    given_back = move(
        session,
        BotVersion,
        version_id,
        VersionState.BUILDING,
        VersionState.UPLOADED,
        col(BotVersion.attempt) == attempt,
        lease_until=None,
        worker=None,
        queued_at=at,
        nudge_at=at + pause,
        reason=reason,
    )
    if not given_back:
        return False
    session.add(
        Attempt(
            version_id=version_id,
            attempt=attempt,
            worker=worker,
            cause=storable_word(cause),
            detail=storable(detail),
            evidence=evidence_json(evidence),
            finished_at=at,
        )
    )
    if cause != Cause.WORKER_STOPPED and failures >= FAILURES_TOLD:
        log.error("version %d could not be built at %d attempts: %s: %s", version_id, failures, cause, detail)
    return True


def _failures(session: Session, version_id: int) -> int:
    """Attempts at the build that we failed so far."""
    failed = (Attempt.version_id == version_id, col(Attempt.cause) != Cause.WORKER_STOPPED)
    return session.exec(select(func.count()).select_from(Attempt).where(*failed)).one()
