"""An exhibition on its way through a worker: claimed, asked and heard, finished once, or given back.

As with series (`league.service.series.carrying_out`), a message is only a nudge, `attempt` fences off whoever comes
late, and what nobody keeps alive is found by the sweep. What a person has answered stays in the row: whoever plays it
again begins with the same dice and gives the same answers for as long as the bot does as it did, the newest included,
which no worker may have taken up yet.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session, and_, case, col, select, update

from engine.core import Result
from engine.transcript import BadTranscript
from engine.unfinished import Replies, read_replies, said, write_replies
from league.causes import BLAMELESS, Cause, Trait
from league.database import now, settings_of
from league.jobs import ExhibitionJob, Host
from league.service.ground.steps import move
from league.service.ground.storable import storable_word
from league.service.jobs.exhibitions import CLOSED, abandon, deadline
from league.service.series.carrying_out import programs_of
from league.service.series.hosts import doubt_host, may_judge
from league.states import ExhibitionState
from league.tables import Exhibition, User

log = logging.getLogger(__name__)

QUEUE_SECONDS = 600
"""For this long a person waits for a worker; then the place is given to somebody else."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What has come of the person's seat. `late`: the time for the move, or for the whole match, is over."""

    answer: str | None
    resigned: bool
    late: bool


def claim_exhibition(session: Session, exhibition_id: int, worker: str, host: Host) -> ExhibitionJob | None:
    """Take one that waits; None: there is nothing to take, or not for this machine."""
    at = now(session)
    taken = move(
        session,
        Exhibition,
        exhibition_id,
        ExhibitionState.QUEUED,
        ExhibitionState.RUNNING,
        may_judge(session, host),
        attempt=Exhibition.attempt + 1,
        worker=worker,
        lease_until=at + timedelta(seconds=settings_of(session).lease_seconds),
    )
    if not taken:
        return None
    row = session.get_one(Exhibition, exhibition_id, populate_existing=True)
    # What it has waited for another worker since is none of the person's time.
    row.started_at = at if row.started_at is None else row.started_at + (at - row.queued_at)
    session.flush()
    person = session.exec(select(User.name).where(User.id == row.user_id)).one()
    return ExhibitionJob(
        exhibition_id=row.id,
        attempt=row.attempt,
        game=row.game,
        seats=row.seats,
        seat=row.seat,
        seed=row.seed,
        program=programs_of(session, {row.version_id})[row.version_id],
        person=person,
        replies=_replies(row),
        waited_seconds=(at - row.queued_at).total_seconds(),
    )


def ask_person(session: Session, job: ExhibitionJob, replies: Replies) -> bool:
    """The match has come so far, and the person is asked; False: it is not the worker's any more.

    At the very point at which somebody asked before and failed since, the question is the same: it keeps its number,
    so that a form that is being filled in still counts, and the answer, if it has one. Saying it twice is harmless.
    """
    row = _row(session, job)
    if row is None:
        return False
    asked = {"replies": write_replies(replies), "asked_at": now(session)}
    if row.turn and said(_replies(row)) == said(replies):
        return _change(session, job, **asked)
    return _change(session, job, **asked, turn=row.turn + 1, answer=None)


def hear_person(session: Session, job: ExhibitionJob) -> Heard | None:
    """What the person has said to that; None: it is not the worker's any more."""
    row = _row(session, job)
    if row is None or row.lease_until is None:
        return None
    at, until = now(session), deadline(session, row)
    return Heard(row.answer, row.resigned, until is not None and until < at <= row.lease_until)


def renew_exhibition(session: Session, job: ExhibitionJob) -> bool:
    """Prolong the lease; False: it is lost. While it was out, nobody was heard: the move has all its time again."""
    at = now(session)
    out = and_(col(Exhibition.lease_until) < at, col(Exhibition.asked_at).is_not(None))
    asked_at = case((out, at), else_=col(Exhibition.asked_at))
    return _change(
        session, job, lease_until=at + timedelta(seconds=settings_of(session).lease_seconds), asked_at=asked_at
    )


def note_void(session: Session, job: ExhibitionJob, cause: str) -> bool:
    """An attempt failed by our doing: the person is told, and nothing is asked until the next one asks. False: there
    is to be no next one, for it is not the worker's any more, or was the last (`release_exhibition` counts that).
    """
    again = col(Exhibition.failures) + 1 < settings_of(session).match_attempts
    counted = {"voids": Exhibition.voids + 1, "failures": Exhibition.failures + 1}
    return _change(session, job, again, cause=storable_word(cause), asked_at=None, **counted)


def finish_exhibition(session: Session, job: ExhibitionJob, result: Result, transcript_sha256: str) -> bool:
    """Write the result; False: too late, nothing was changed."""
    return move(
        session,
        Exhibition,
        job.exhibition_id,
        ExhibitionState.RUNNING,
        ExhibitionState.DONE,
        col(Exhibition.attempt) == job.attempt,
        ranks=list(result.ranks),
        points=None if result.points is None else [str(value) for value in result.points],
        fault=result.faults.get(job.seat),
        transcript_sha256=transcript_sha256,
        lease_until=None,
        finished_at=now(session),
        **CLOSED,
    )


def release_exhibition(
    session: Session, exhibition_id: int, attempt: int, cause: str, host: Host | None = None, *, void: bool = False
) -> None:
    """We failed: back to the queue, or abandoned after as many failures as a match of bots or too long; nothing where
    it is lost.

    `void`: it had been begun, so that its person waited for nothing, and it counts whatever the cause. `host`: where it
    failed; one that could not even try is given nothing until it has been checked, as with series.
    """
    if host is not None and Trait.MACHINE in Cause(cause).traits:
        doubt_host(session, host)
    settings = settings_of(session)
    mine = col(Exhibition.attempt) == attempt
    row = session.exec(select(Exhibition).where(Exhibition.id == exhibition_id, mine)).first()
    if row is None:
        return
    at, failures = now(session), row.failures + (void or cause not in BLAMELESS)
    if failures >= settings.match_attempts or at > row.created_at + timedelta(seconds=settings.exhibition_seconds):
        if abandon(session, exhibition_id, ExhibitionState.RUNNING, storable_word(cause), mine):
            log.error("exhibition %d abandoned after %d attempts: %s", exhibition_id, attempt, cause)
        return
    move(
        session,
        Exhibition,
        exhibition_id,
        ExhibitionState.RUNNING,
        ExhibitionState.QUEUED,
        mine,
        lease_until=None,
        worker=None,
        queued_at=at,
        nudge_at=at + timedelta(seconds=settings.retry_seconds * max(1, failures)),
        failures=failures,
        voids=Exhibition.voids + 1,
        cause=storable_word(cause),
        asked_at=None,
    )


def hand_back_exhibition(session: Session, job: ExhibitionJob) -> None:
    """The worker is to end: another one goes on at once, and the person's answers are given again. No failure."""
    at = now(session)
    free = {"worker": None, "lease_until": None, "queued_at": at, "nudge_at": at, "asked_at": None}
    held = col(Exhibition.attempt) == job.attempt
    move(session, Exhibition, job.exhibition_id, ExhibitionState.RUNNING, ExhibitionState.QUEUED, held, **free)


def sweep_exhibitions(session: Session) -> list[int]:
    """Take expired leases back, give up what nobody took; those that wait and must be enqueued (again)."""
    at, settings = now(session), settings_of(session)
    expired = (Exhibition.state == ExhibitionState.RUNNING, col(Exhibition.lease_until) < at)
    for row in session.exec(select(Exhibition).where(*expired).limit(settings.sweep_limit)).all():
        release_exhibition(session, row.id, row.attempt, Cause.LEASE_EXPIRED)
    waiting = col(Exhibition.state) == ExhibitionState.QUEUED
    old = (waiting, col(Exhibition.queued_at) < at - timedelta(seconds=QUEUE_SECONDS))
    for exhibition_id in session.exec(select(Exhibition.id).where(*old)).all():
        abandon(session, exhibition_id, ExhibitionState.QUEUED, Cause.NO_WORKER)
    return _due(session, waiting, at)


def _due(session: Session, waiting: Any, at: datetime) -> list[int]:
    ids = list(session.exec(select(Exhibition.id).where(waiting, col(Exhibition.nudge_at) <= at)).all())
    if ids:
        again = at + timedelta(seconds=settings_of(session).requeue_seconds)
        session.exec(update(Exhibition).where(col(Exhibition.id).in_(ids), waiting).values(nudge_at=again))
    return ids


def _held(job: ExhibitionJob) -> tuple[Any, ...]:
    return (
        col(Exhibition.id) == job.exhibition_id,
        col(Exhibition.attempt) == job.attempt,
        col(Exhibition.state) == ExhibitionState.RUNNING,
    )


def _row(session: Session, job: ExhibitionJob) -> Exhibition | None:
    return session.exec(select(Exhibition).where(*_held(job)).execution_options(populate_existing=True)).first()


def _change(session: Session, job: ExhibitionJob, *conditions: Any, **values: Any) -> bool:
    statement = update(Exhibition).where(*_held(job), *conditions).values(**values)
    return session.exec(statement.execution_options(synchronize_session=False)).rowcount == 1


def _replies(row: Exhibition) -> Replies:
    try:
        return read_replies(row.replies)
    except BadTranscript:  # a worker of another version wrote them: the person is asked again
        return []
