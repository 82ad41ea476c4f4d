"""An exhibition on its way through a worker: claimed, played, finished once, or given back.

It has the life of any job (`league.service.ground.life`). The person's answers stay in the row: a new attempt begins
with the same dice and gives the same answers as long as the bot plays as before, including the newest answer, which no
worker may have read yet.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from sqlalchemy import Update, bindparam
from sqlmodel import Session, and_, case, col, select

from deadheat.engine.advice import ADVISERS
from deadheat.engine.core import Result, Seat
from deadheat.engine.games.folder import Identity
from deadheat.engine.transcript import BadTranscript
from deadheat.engine.unfinished import Replies, read_replies, said, write_replies
from deadheat.league.causes import BLAMELESS, Cause
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Failure, Host, Job, ProgramRef
from deadheat.league.records import from_row
from deadheat.league.service.ground.life import Life
from deadheat.league.service.ground.steps import storable_word
from deadheat.league.service.jobs.exhibitions import CLOSED, WAITING, abandon, deadline, let_next_in, lock_places
from deadheat.league.service.series.carrying_out import programs_of
from deadheat.league.service.series.games import games_here, same_as
from deadheat.league.service.series.hosts import blame_host, may_judge, told_of
from deadheat.league.states import JobState
from deadheat.league.tables import Exhibition, User

log = logging.getLogger(__name__)

EXHIBITIONS = Life(
    "exhibition", Exhibition, JobState.QUEUED, JobState.RUNNING, longest_pause=timedelta(seconds=20), takes_slot=False
)
"""People wait for the next attempt, but they are few. A slot is taken only for each exchange of the bots."""

QUEUE_SECONDS = 600
"""How long a person may wait for a worker once there is a place. For a place, it is as long as a match may take."""


@dataclass(frozen=True, slots=True)
class ExhibitionJob(Job):
    """A match of a person, in `seat`, against copies of a program in all other seats.

    `replies`: the answers of all seats in earlier attempts, when the person was last asked.
    """

    exhibition_id: int
    attempt: int
    game: str
    seats: int
    seat: Seat
    seed: bytes
    program: ProgramRef
    person: str
    replies: Replies = ()
    variant: Sequence[str] | None = None  # of the game, see `league.terms`


@dataclass(frozen=True, slots=True)
class Heard:
    """The state of the person's seat. `late`: the time for the move, or for the whole match, is over."""

    answer: str | None
    resigned: bool
    late: bool


def claim_next_exhibition(session: Session, nudged_id: int, worker: str, host: Host) -> ExhibitionJob | None:
    """Claim the match that has waited longest, if a place is free, or one that kept its place. Return None for none."""
    return EXHIBITIONS.claim_next(
        session, nudged_id, _next_in_line, lambda chosen: claim_exhibition(session, chosen, worker, host)
    )


def _next_in_line(session: Session) -> int | None:
    return session.exec(WAITING.limit(1)).first() if lock_places(session) > 0 else None


def note_wait(session: Session, job: ExhibitionJob, waits: bool) -> bool:
    """Note whether the bots wait for a slot. Return False if the worker no longer holds the match."""
    since = now(session) if waits else None
    return EXHIBITIONS.change(session, job.exhibition_id, job.attempt, waits_since_at=since)


def claim_exhibition(session: Session, exhibition_id: int, worker: str, host: Host) -> ExhibitionJob | None:
    """Claim a waiting match. Return None if it does not wait, or this machine may not take it."""
    at = now(session)
    claiming = _claiming(games_here(), settings_of(session).judge_unfit)
    if not EXHIBITIONS.claim(session, claiming, exhibition_id, worker, **told_of(session, host)):
        return None
    row = session.get_one(Exhibition, exhibition_id, populate_existing=True)
    # The person's time does not include the time for which the match waited for another worker.
    row.started_at = at if row.started_at is None else row.started_at + (at - row.queued_at)
    session.flush()
    person = session.exec(select(User.name).where(User.id == row.user_id)).one()
    return from_row(
        ExhibitionJob,
        row,
        exhibition_id=row.id,
        program=programs_of(session, {row.version_id})[row.version_id],
        person=person,
        replies=_replies(row),
        waited_seconds=(at - row.queued_at).total_seconds(),
    )


@cache
def _claiming(games: tuple[Identity, ...], judge_unfit: bool) -> Update:
    return EXHIBITIONS.claiming(may_judge(judge_unfit), col(Exhibition.game).in_(same_as(games)))


def ask_person(session: Session, job: ExhibitionJob, replies: Replies) -> bool:
    """Store the match so far and ask the person. Return False if the worker no longer holds it.

    If an earlier attempt asked at exactly this point and then failed, the question is the same: it keeps its number, so
    that a form being filled in still counts, and its answer, if it has one. Repeating the call is harmless.
    """
    row = _row(session, job)
    if row is None:
        return False
    question = {"replies": write_replies(replies), "asked_at": now(session)}
    if row.turn and said(_replies(row)) == said(replies):
        return EXHIBITIONS.change(session, job.exhibition_id, job.attempt, **question)
    return EXHIBITIONS.change(session, job.exhibition_id, job.attempt, **question, turn=row.turn + 1, answer=None)


def hear_person(session: Session, job: ExhibitionJob) -> Heard | None:
    """Return the person's answer, or None if the worker no longer holds the match."""
    row = _row(session, job)
    if row is None or row.lease_until is None:
        return None
    at, until = now(session), deadline(session, row)
    return Heard(row.answer, row.resigned, until is not None and until < at <= row.lease_until)


def renew_exhibition(session: Session, job: ExhibitionJob) -> bool:
    """Prolong the lease. Return False if it is lost. While no worker held the match, nobody could read the answer, so
    the move gets all its time again.
    """
    at = now(session)
    out = and_(col(Exhibition.lease_until) < at, col(Exhibition.asked_at).is_not(None))
    asked_at = case((out, at), else_=col(Exhibition.asked_at))
    return EXHIBITIONS.renew(session, job.exhibition_id, job.attempt, asked_at=asked_at)


def note_void(session: Session, job: ExhibitionJob, cause: str) -> bool:
    """Note that the service failed at an attempt, and tell the person; the next attempt asks again. Return False if
    there is none, because the worker no longer holds the match, or this attempt was the last (`release_exhibition`
    counts that).
    """
    again = col(Exhibition.failures) + 1 < settings_of(session).match_attempts
    counted = {"voids": Exhibition.voids + 1, "failures": Exhibition.failures + 1}
    facts = {"cause": storable_word(cause), "asked_at": None}
    return EXHIBITIONS.change(session, job.exhibition_id, job.attempt, again, **facts, **counted)


def finish_exhibition(session: Session, job: ExhibitionJob, result: Result, transcript_sha256: str) -> bool:
    """Store the result. Return False if it is too late; nothing was changed then."""
    lock_places(session)
    ended = EXHIBITIONS.end(
        session,
        job.exhibition_id,
        job.attempt,
        JobState.DONE,
        ranks=list(result.ranks),
        points=None if result.points is None else [str(value) for value in result.points],
        fault=result.faults.get(job.seat),
        transcript_sha256=transcript_sha256,
        finished_at=now(session),
        advise_at=now(session) if job.game in ADVISERS else None,
        **CLOSED,
    )
    if ended:
        let_next_in(session)
    return ended


def release_exhibition(
    session: Session, job: ExhibitionJob, worker: str, failure: Failure, host: Host | None = None, *, void: bool = False
) -> bool:
    """Give the match back because we failed at it. Return False if it is lost; nothing was changed then.

    `void`: it had begun, so the person waited in vain, and the failure counts whatever its cause. `host`: the machine
    where it failed, which may be to blame (`blame_host`).
    """
    if host is not None:
        blame_host(session, host, failure.cause, failure.detail)
    return give_back_exhibition(session, job.exhibition_id, job.attempt, worker, failure, void=void)


def give_back_exhibition(
    session: Session, exhibition_id: int, attempt: int, _worker: str | None, failure: Failure, *, void: bool = False
) -> bool:
    """Return the match to the queue for another attempt after a pause, or abandon it after as many failures as a match
    of bots, or after too long. Return False if it is too late; nothing was changed then. A clean hand-back is no
    failure: the person's answers are given again.
    """
    if failure.cause == Cause.WORKER_STOPPED:
        return EXHIBITIONS.give_back(session, exhibition_id, attempt, 0, asked_at=None, waits_since_at=None)
    row = session.exec(HELD, params={"id": exhibition_id, "attempt": attempt}).first()
    if row is None:
        return False
    settings, cause = settings_of(session), storable_word(failure.cause)
    failures = row.failures + (void or failure.cause not in BLAMELESS)
    late = now(session) > row.created_at + timedelta(seconds=settings.exhibition_seconds)
    if late or failures >= settings.match_attempts:
        mine = col(Exhibition.attempt) == attempt
        log.error("exhibition %d is abandoned after %d attempts: %s", exhibition_id, attempt, cause)
        return abandon(session, exhibition_id, JobState.RUNNING, cause, mine)
    facts = {"failures": failures, "voids": Exhibition.voids + 1, "cause": cause}
    facts |= {"asked_at": None, "waits_since_at": None}
    return EXHIBITIONS.give_back(session, exhibition_id, attempt, max(1, failures), **facts)


def give_up_waiting(session: Session) -> None:
    """Free the places of people whose matches no worker took in time."""
    at, left, longest = now(session), lock_places(session), settings_of(session).exhibition_seconds
    queue = select(Exhibition.id, Exhibition.attempt, Exhibition.queued_at).where(Exhibition.state == JobState.QUEUED)
    for exhibition_id, attempt, queued_at in session.exec(queue.order_by(col(Exhibition.id))).all():
        left -= attempt == 0
        has_place = attempt > 0 or left >= 0
        if at > queued_at + timedelta(seconds=QUEUE_SECONDS if has_place else longest):
            abandon(session, exhibition_id, JobState.QUEUED, Cause.NO_WORKER)


def _row(session: Session, job: ExhibitionJob) -> Exhibition | None:
    return session.exec(HELD, params={"id": job.exhibition_id, "attempt": job.attempt}).first()


HELD = (
    select(Exhibition)
    .where(col(Exhibition.id) == bindparam("id"), col(Exhibition.attempt) == bindparam("attempt"))
    .where(Exhibition.state == EXHIBITIONS.held)
    .execution_options(populate_existing=True)
)


def _replies(row: Exhibition) -> Replies:
    try:
        return read_replies(row.replies)
    except BadTranscript:  # written by a worker of another version; the person is asked again
        return []
