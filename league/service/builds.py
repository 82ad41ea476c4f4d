"""Building a version: claimed by one worker at a time, finished once.

The same scheme as for series (`league.service.play`): a claim is a compare-and-set that takes a lease and raises
the attempt's number, and whatever comes back names its attempt. Our failure puts the version back, and only the build
itself can break it. The pause before the next try doubles each time, up to `LONGEST_PAUSE`: a version that takes down
whoever builds it can do so once an hour.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

from sqlmodel import Session, col, select, update

from league.database import now, settings_of
from league.jobs import BuildJob, BuildOutcome
from league.service.entries import offer_version
from league.service.steps import move
from league.service.storable import evidence_json, storable, storable_tail
from league.states import VersionState
from league.tables import Attempt, Bot, BotVersion

log = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=1)
"""Between two tries at a build that we fail again and again."""


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
    held = (
        col(BotVersion.id) == job.version_id,
        col(BotVersion.attempt) == job.attempt,
        col(BotVersion.state) == VersionState.BUILDING,
    )
    until = now(session) + timedelta(seconds=settings_of(session).lease_seconds)
    return session.exec(update(BotVersion).where(*held).values(lease_until=until)).rowcount == 1


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
    pause = min(timedelta(seconds=settings.retry_seconds) * 2 ** min(attempt - 1, 20), LONGEST_PAUSE)
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
        reason=f"Our own failure at attempt {attempt}, which is tried again: {storable(detail)}",
    )
    if not given_back:
        return False
    session.add(
        Attempt(
            version_id=version_id,
            attempt=attempt,
            worker=worker,
            cause=cause,
            detail=storable(detail),
            evidence=evidence_json(evidence),
            finished_at=at,
        )
    )
    if attempt >= settings.build_attempts:
        log.error("version %d could not be built at %d attempts: %s: %s", version_id, attempt, cause, detail)
    return True
