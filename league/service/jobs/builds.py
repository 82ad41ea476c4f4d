"""Building a version: claimed by one worker at a time, finished once (see `league.service.ground.life`).

Our failure puts the version back; only the build itself can break it. The pause before the next attempt doubles each
time, so a version that takes down its builder can do so once an hour.

A message says that there is something to build, but not what: each upload sends one, and its receiver builds the
version whose turn it is (`claim_next_build`). So an author who uploads a thousand versions keeps nobody else waiting.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from sqlalchemy import ColumnElement, Update, bindparam
from sqlmodel import Session, col, exists, func, or_, select
from sqlmodel.sql.expression import Select

from deadheat.engine.core import STDERR_KEPT_BYTES
from deadheat.engine.games.folder import Identity
from deadheat.league.causes import Cause, told
from deadheat.league.database import now
from deadheat.league.jobs import Failure, Job
from deadheat.league.records import from_row
from deadheat.league.service.ground.life import Life, failures_before, note
from deadheat.league.service.ground.steps import storable, storable_tail
from deadheat.league.service.people import notices
from deadheat.league.service.seasons.entries import offer_version
from deadheat.league.service.series.games import games_here, same_as
from deadheat.league.states import VersionState
from deadheat.league.tables import Attempt, Bot, BotVersion, UtcDateTime

log = logging.getLogger(__name__)

BUILDS = Life("build", BotVersion, VersionState.UPLOADED, VersionState.BUILDING, longest_pause=timedelta(hours=1))

FAILURES_TOLD = 5
"""Operators are notified of each failure of one build from this number on; the build is still retried."""

MOST_STARVED = 5
"""A build that was starved this often, for four minutes each time, is given up: it holds a slot meanwhile, and one that
makes itself wait would hold it for ever."""

GIVEN_UP = (
    f"Your build waited for a processor for too long at {MOST_STARVED} attempts. The machines may be busy: upload it "
    "again later."
)

RECENT = timedelta(hours=1)
"""How long a finished build counts against its author's next one."""

REMEMBERED = timedelta(days=1)
"""Older uploads are not read when an author's recent builds are counted, which keeps the query short."""


@dataclass(frozen=True, slots=True)
class BuildJob(Job):
    """An uploaded source archive to build and try."""

    version_id: int
    attempt: int
    game: str
    source_sha256: str  # blob: the unchanged upload
    filename: str  # as uploaded, e.g. bot.py or bot.zip
    language: str  # detected at upload, see sandbox.languages
    entry: str = ""  # as in ProgramRef


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """The outcome of a build: `program_sha256` is None if the bot is broken, and `reason` then says why."""

    program_sha256: str | None  # blob: tar of the built program
    reason: str  # one sentence for the author; empty when ready
    log: str  # tail of the build's and the trial's output, for the author only
    trial_sha256: str | None = None  # blob: transcript of the last trial match; None: there was none


def claim_next_build(session: Session, nudged_id: int, worker: str) -> BuildJob | None:
    """Claim the next build on receipt of a message about `nudged_id`. Return None if nothing waits.

    The next build is the oldest upload of the author with the fewest builds under way and recently finished.
    """
    return BUILDS.claim_next(session, nudged_id, _next_in_fairness, lambda chosen: claim_build(session, chosen, worker))


def _next_in_fairness(session: Session) -> int | None:
    """Return the new upload to build next. The query reads a row for each waiting author, and their recent uploads."""
    oldest = session.exec(_oldest(games_here())).all()
    if not oldest:
        return None
    at, people = now(session), [person for person, _ in oldest]
    since = {"people": people, "remembered_at": at - REMEMBERED, "recent_at": at - RECENT}
    recent: Mapping[int | None, int] = dict(session.exec(BUILT_LATELY, params=since).all())
    return min(oldest, key=lambda waiting: (recent.get(waiting[0], 0), waiting[1]))[1]


@cache
def _oldest(games: tuple[Identity, ...]) -> Select[int | None, int]:
    """Return the statement for the oldest new upload of each author; one that was only handed back is new."""
    fresh = or_(col(BotVersion.attempt) == 0, col(BotVersion.reason) == "")
    new = (col(BotVersion.state) == VersionState.UPLOADED, fresh, ~_of_another_game(games))
    return select(BotVersion.uploader_id, func.min(BotVersion.id)).where(*new).group_by(col(BotVersion.uploader_id))


BUILT_LATELY = (
    select(BotVersion.uploader_id, func.count())
    .where(
        col(BotVersion.uploader_id).in_(bindparam("people", expanding=True)),
        col(BotVersion.created_at) > bindparam("remembered_at", type_=UtcDateTime),
        or_(
            col(BotVersion.state) == VersionState.BUILDING,
            col(BotVersion.built_at) > bindparam("recent_at", type_=UtcDateTime),
        ),
    )
    .group_by(col(BotVersion.uploader_id))
)


def _of_another_game(games: tuple[Identity, ...]) -> ColumnElement[bool]:
    """Return the condition that a version plays a game that this process does not share with the API."""
    return (
        exists()
        .where(col(Bot.id) == col(BotVersion.bot_id), col(Bot.game).not_in(same_as(games)))
        .correlate(BotVersion)
    )


@cache
def _claiming(games: tuple[Identity, ...]) -> Update:
    return BUILDS.claiming(~_of_another_game(games))


def claim_build(session: Session, version_id: int, worker: str) -> BuildJob | None:
    """Claim a waiting version. Return None if it does not exist or does not wait, if another worker was faster, or if
    this worker's game differs from the API's, so that a trial match would show nothing.
    """
    if not BUILDS.claim(session, _claiming(games_here()), version_id, worker):
        return None
    version, game = session.exec(CLAIMED, params={"version": version_id}).one()
    waited_seconds = (now(session) - version.queued_at).total_seconds()
    return from_row(BuildJob, version, version_id=version.id, game=game, waited_seconds=waited_seconds)


CLAIMED = (
    select(BotVersion, Bot.game)
    .join(Bot, col(Bot.id) == BotVersion.bot_id)
    .where(col(BotVersion.id) == bindparam("version"))
)


def renew_build(session: Session, job: BuildJob) -> bool:
    """Prolong the lease. Return False if it is lost and the worker should stop."""
    return BUILDS.renew(session, job.version_id, job.attempt)


def note_build_log(session: Session, job: BuildJob, log: str) -> bool:
    """Show the author the build's output so far. Return False if the lease is lost; nothing was changed then."""
    return BUILDS.change(session, job.version_id, job.attempt, log=storable_tail(log, STDERR_KEPT_BYTES))


def finish_build(session: Session, job: BuildJob, outcome: BuildOutcome) -> bool:
    """Store the outcome of a build. Return False if it is too late; nothing was changed then."""
    ready = outcome.program_sha256 is not None
    stored = BUILDS.end(
        session,
        job.version_id,
        job.attempt,
        VersionState.READY if ready else VersionState.BROKEN,
        built_at=now(session),
        program_sha256=outcome.program_sha256,
        trial_sha256=outcome.trial_sha256,
        reason=storable(outcome.reason),
        log=storable_tail(outcome.log, STDERR_KEPT_BYTES),
    )
    if stored:
        notices.version_settled(session, job.version_id)
    if stored and ready:
        offer_version(session, job.version_id)
    return stored


def give_back_build(session: Session, version_id: int, attempt: int, worker: str | None, failure: Failure) -> bool:
    """Return a version to the queue after our failure, to be built again after a pause, and add a line to the ledger. A
    build that was starved `MOST_STARVED` times is given up. Return False if it is too late; nothing was changed then.
    """
    failures, reason, given_up = 0, "", False
    kept = {"queued_at": col(BotVersion.queued_at)} if failure.cause == Cause.WORKER_STOPPED else {}
    if failure.cause != Cause.WORKER_STOPPED:
        before = failures_before(session, col(Attempt.version_id) == version_id)
        failures = before.total() + 1
        given_up = failure.cause == Cause.HOST_STARVED and before[Cause.HOST_STARVED] + 1 >= MOST_STARVED
        public = told(failure.cause, storable(failure.detail))
        reason = f"The service failed at attempt {attempt} and will try again: {public}"
    if given_up:
        if not BUILDS.end(session, version_id, attempt, VersionState.BROKEN, built_at=now(session), reason=GIVEN_UP):
            return False
        notices.version_settled(session, version_id)
    elif not BUILDS.give_back(session, version_id, attempt, failures, reason=reason, **kept):
        return False
    note(session, attempt, failure, now(session), version_id=version_id, worker=worker)
    if failures >= FAILURES_TOLD:
        log.error(
            "version %d could not be built at %d attempts: %s: %s", version_id, failures, failure.cause, failure.detail
        )
    return True
