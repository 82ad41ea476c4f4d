"""The work of machines that play over HTTP: what they may claim, read and hand in.

Theory of operation
-------------------
Everything here is asked by a machine that may be hostile. So each function begins with what the database says that this
machine holds: the series, its attempt and its worker's name. Whatever else a request names is `NotFound`.

A machine of low trust plays only rated series of the ladder, whose programs are the house's or lent by their authors,
and never in a season in which its owner competes: it can read these programs and see these dice, and what decides is
played elsewhere. What it calls a failure, or void, counts against no series or match, and keeps the series away. But
the next attempt has new dice, so a series that is not finished is a result undone: a machine that leaves out too many
is out (`MOST_GIVEN_BACK`), and none holds many, or one for long.

What arrives is played again before anything is stored (`league.checking.arrival`), outside of any transaction. The
names of players are not sent to machines: transcripts arrive with a number for each, and get the names here.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, or_
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat import __version__
from deadheat.engine.core import NS_PER_S
from deadheat.engine.games.folder import Identity
from deadheat.engine.transcript import BadTranscript, relabelled
from deadheat.league.blobs import Blobs
from deadheat.league.causes import BLAMELESS, Cause, Trait
from deadheat.league.checking.arrival import Reason, Refused, Stamps, Stated, check_series, check_void
from deadheat.league.database import now, settings_of
from deadheat.league.errors import MachineRefused, NotFound
from deadheat.league.jobs import Failure, MatchOutcome, SeriesJob
from deadheat.league.service.ground.steps import set_values
from deadheat.league.service.machines.access import Caller, holder, revoke_machine, take_back
from deadheat.league.service.machines.trust import condemn, draw
from deadheat.league.service.people.notices import machine_unfit
from deadheat.league.service.people.users import HOUSE
from deadheat.league.service.series.carrying_out import (
    SERIES,
    claim_series,
    finish_series,
    renew_series,
    series_job,
)
from deadheat.league.service.series.games import closed_to, games_here
from deadheat.league.service.series.hosts import (
    blame_host,
    count_given_back,
    host_arrives,
    may_judge,
    told_of,
    welcome,
)
from deadheat.league.service.series.turns import FRESH, claim_next_series
from deadheat.league.states import Found, Purpose, Trust
from deadheat.league.tables import (
    Attempt,
    Bot,
    BotVersion,
    Entry,
    MachineAccess,
    Match,
    Participant,
    Series,
    TeamMember,
    User,
    UtcDateTime,
    WorkerHost,
)

log = logging.getLogger(__name__)

MOST_GIVEN_BACK, GIVEN_BACK_ONE_IN = 24, 50
"""How many series a lent machine may leave unfinished, and one more for so many finished ones. Then it is revoked. That
shows no lie: an operator may add it again."""

MOST_HELD = 64
"""How many series a lent machine holds at a time, and one more for each that it has finished."""

LONGEST_SECONDS = 2 * 3600
"""For how long a lent machine may hold a series, however often it renews its lease."""

MOST_TRIED = 8
"""How many waiting series one claim tries, before it leaves the rest to the next."""


@dataclass(frozen=True, slots=True)
class Void:
    """A machine's words about the void attempt that ended its part of a series."""

    match_id: int
    cause: str
    detail: str


@dataclass(frozen=True, slots=True)
class Results:
    """A machine's words about its attempt at a series: its first matches as they were played, then perhaps a void
    attempt, and why the others were not played.
    """

    played: Sequence[Stated] = ()
    void: Void | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Arrived:
    """Results that arrived for a series which their machine holds."""

    job: SeriesJob
    worker: str
    results: Results
    stamps: Stamps


def register(session: Session, caller: Caller, image: str, *, starts: bool) -> bool:
    """Note that a machine is there; if its worker `starts`, what it held is given back. Return False if another boot
    with its token was alive within a lease: two machines must not share one.
    """
    if not host_arrives(session, caller.host, image):
        return False
    set_values(session, MachineAccess, where={"name": caller.host.name}, release=__version__)
    if starts:
        take_back(session, caller.host.name, "its worker began anew")
    return True


def waits(session: Session, caller: Caller) -> bool:
    """Say whether a series waits that this machine may claim now."""
    judges = columns(may_judge(settings_of(session).judge_unfit))
    if not session.connection().execute(judges, told_of(session, caller.host)).scalar_one():
        return False
    return bool(_waiting(session, caller, tried=False))


def claim(session: Session, caller: Caller, number: int) -> SeriesJob | None:
    """Claim the next series for the process of that number, or return None. No message says which one: a series at
    which we failed before is taken when its pause is over.
    """
    worker, full = caller.worker(number), caller.trust is Trust.FULL
    if not full and not _may_hold(session, caller):
        return None
    if full and (job := claim_next_series(session, 0, worker, caller.host)) is not None:
        return job
    for series_id in _waiting(session, caller, tried=full):
        if (job := claim_series(session, series_id, worker, caller.host)) is not None:
            return job
    return None


def _may_hold(session: Session, caller: Caller) -> bool:
    """Say whether a lent machine may hold one more series. One that left out too many is revoked."""
    name = caller.host.name
    counts = session.exec(select(WorkerHost.series, WorkerHost.voids).where(WorkerHost.name == name)).first()
    finished, given_back = counts or (0, 0)
    if given_back > MOST_GIVEN_BACK + finished // GIVEN_BACK_ONE_IN:
        revoke_machine(session, name)
        why = f"It left {given_back} series unfinished, and played {finished}. Its token is revoked."
        machine_unfit(session, name, why)
        return False
    held = session.exec(select(Series.worker).where(Series.state == SERIES.held)).all()
    return sum(holder(worker) == name for worker in held) < MOST_HELD + finished


def _waiting(session: Session, caller: Caller, *, tried: bool) -> Sequence[int]:
    at, full = now(session), caller.trust is Trust.FULL
    facts = {"at": at, "paused_at": at - SERIES.longest_pause, "owner": caller.owner_id}
    statement = _statement(games_here(), full, tried, settings_of(session).judge_unfit)
    return session.connection().execute(statement, {**told_of(session, caller.host), **facts}).scalars().all()


@cache
def _statement(games: tuple[Identity, ...], full: bool, tried: bool, judge_unfit: bool) -> Select[Any]:
    """Return the statement for the waiting series that a machine may play, those that waited longest first; `tried`:
    only those at which we failed before.
    """
    at, paused_at = (bindparam(name, type_=UtcDateTime) for name in ("at", "paused_at"))
    due = or_(col(Series.nudge_at) <= at, col(Series.queued_at) <= paused_at)
    found = (
        columns(col(Series.id))
        .where(col(Series.state) == SERIES.waiting, col(Series.season_id).not_in(closed_to(games)))
        .where(and_(~FRESH, due) if tried else or_(FRESH, due), welcome(judge_unfit))
        .order_by(col(Series.queued_at), col(Series.id))
        .limit(MOST_TRIED)
    )
    return found if full else found.where(col(Series.purpose) == Purpose.LADDER, ~_private(), ~_competes())


def _private() -> ColumnElement[bool]:
    """Return the condition that a version plays in the series which may not be read on a lent machine."""
    return (
        exists()
        .where(col(Match.series_id) == col(Series.id), col(Participant.match_id) == Match.id)
        .where(col(BotVersion.id) == Participant.version_id, col(Bot.id) == BotVersion.bot_id)
        .where(col(User.id) == Bot.owner_id, col(User.name_key) != HOUSE, col(BotVersion.lendable).is_(False))
        .correlate(Series)
    )


def _competes() -> ColumnElement[bool]:
    """Return the condition that the machine's owner has a bot in the series' season, alone or in a team."""
    owner: Any = bindparam("owner")
    team = exists().where(col(TeamMember.team_id) == col(Bot.team_id), col(TeamMember.user_id) == owner)
    return (
        exists()
        .where(col(Entry.season_id) == col(Series.season_id), col(Bot.id) == Entry.bot_id)
        .where(or_(col(Bot.owner_id) == owner, team.correlate(Bot)))
        .correlate(Series)
    )


def held(session: Session, caller: Caller, series_id: int, attempt: int) -> SeriesJob:
    """Return the series that this machine holds by this attempt. Raises NotFound."""
    _must_hold(session, caller, series_id, attempt)
    return series_job(session, series_id, caller.host, now(session))


def _must_hold(session: Session, caller: Caller, series_id: int, attempt: int) -> Series:
    mine = select(Series).where(Series.id == series_id, Series.state == SERIES.held, Series.attempt == attempt)
    row = session.exec(mine).first()
    if row is None or holder(row.worker) != caller.host.name:
        raise NotFound("series", series_id)
    return row


def renew(session: Session, caller: Caller, series_id: int, attempt: int) -> bool:
    """Prolong the lease of a series. Return False if this machine does not hold it."""
    try:
        began_at = _must_hold(session, caller, series_id, attempt).started_at
    except NotFound:
        return False
    if caller.trust is Trust.LOW and began_at and now(session) > began_at + timedelta(seconds=LONGEST_SECONDS):
        return False
    return renew_series(session, SeriesJob(series_id, attempt, "", {}, ()))


def must_play(session: Session, caller: Caller, series_id: int, attempt: int, sha256: str) -> None:
    """Raise NotFound unless a program with this hash plays in a series that the machine holds."""
    _must_hold(session, caller, series_id, attempt)
    plays = (
        select(BotVersion.id)
        .join(Participant, col(Participant.version_id) == BotVersion.id)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(Match.series_id == series_id, BotVersion.program_sha256 == sha256)
    )
    if session.exec(plays.limit(1)).first() is None:
        raise NotFound("program", sha256)


def begin_results(session: Session, caller: Caller, series_id: int, attempt: int, results: Results) -> Arrived | None:
    """Return what `checked` needs, or None if the results come too late: an organiser has decided on one of the
    matches. Raises NotFound: the machine does not hold the series.
    """
    row = _must_hold(session, caller, series_id, attempt)
    job = series_job(session, series_id, caller.host, now(session))
    planned = {match.match_id for match in job.matches}
    over = set(session.exec(select(Match.id).where(Match.series_id == series_id)).all()) - planned
    if over & {stated.match_id for stated in results.played}:
        return None
    claimed_at = row.started_at or row.queued_at
    stamps = Stamps(*(int(at.timestamp() * NS_PER_S) for at in (claimed_at, now(session))))
    return Arrived(job, row.worker or "", results, stamps)


def given_in(session: Session, caller: Caller, series_id: int, attempt: int) -> bool:
    """Say whether this machine's results of that attempt were taken before: its answer may have been lost."""
    lines = select(Attempt.worker).where(Attempt.series_id == series_id, Attempt.attempt == attempt)
    worker = session.exec(lines.where(col(Attempt.match_id).is_not(None)).limit(1)).first()
    return worker is not None and holder(worker) == caller.host.name


def checked(arrived: Arrived, blobs: Blobs) -> list[MatchOutcome]:
    """Play everything again, and store the transcripts. Needs no database.

    Raises:
        Refused: nothing counts. BlobsAway.
    """
    job, results = arrived.job, arrived.results
    played = [_named(job, stated) for stated in results.played]
    outcomes = check_series(job, played, arrived.stamps)
    if (void := results.void) is not None:
        outcomes.append(check_void(job, played, void.match_id, void.cause, void.detail, arrived.stamps))
    for stated in played:
        blobs.put(stated.transcript)
    return outcomes


def alias(version_id: int) -> str:
    """Return the name that a machine knows a version by."""
    return f"version {version_id}"


def _named(job: SeriesJob, stated: Stated) -> Stated:
    """Put the players' names into a transcript, in place of the numbers that its machine knows them by."""
    match = next((match for match in job.matches if match.match_id == stated.match_id), None)
    if match is None:
        return stated  # which the check refuses
    about = {"match": match.match_id, "series": job.series_id}
    sent = {**about, "players": [alias(version) for version in match.seats]}
    named = {**about, "players": [job.programs[version].label for version in match.seats]}
    try:
        return replace(stated, transcript=relabelled(stated.transcript, sent, named))
    except BadTranscript as error:
        raise Refused(Reason.UNREADABLE, f"match {match.match_id}: {error}") from error


def finish(session: Session, caller: Caller, arrived: Arrived, outcomes: Sequence[MatchOutcome]) -> bool:
    """Store the results that were checked. Return False if they came too late or do not count."""
    failure = arrived.results.failure
    if caller.trust is Trust.FULL:
        return finish_series(session, arrived.job, arrived.worker, outcomes, failure and _possible(failure))
    if outcomes and outcomes[-1].result is None:
        (attempt,), outcomes = outcomes[-1].attempts, outcomes[:-1]
        if Trait.CONDEMNS in Cause(attempt.cause).traits:
            blame_host(session, caller.host, attempt.cause, "")
        failure = Failure(attempt.cause, "")
    taken = finish_series(session, arrived.job, arrived.worker, outcomes, failure and _blameless(failure))
    if not taken or len(outcomes) < len(arrived.job.matches):
        count_given_back(session, caller.host.name)
    if taken:
        draw(session, caller.host.name, arrived.job, outcomes)
    return taken


def _possible(failure: Failure) -> Failure:
    """Return the failure with a cause that a machine can have."""
    cause = Cause(failure.cause)
    impossible = cause in (Cause.PLAYED, Cause.LEASE_EXPIRED) or Trait.DROPPED in cause.traits
    return replace(failure, cause=Cause.UNKNOWN.value if impossible else failure.cause)


def _blameless(failure: Failure) -> Failure:
    """Return a lent machine's failure as one that counts against no series, nor keeps its place: others play it."""
    cause = Cause(failure.cause)
    if cause in BLAMELESS and Trait.TOLD not in cause.traits:  # such details are public
        return failure
    return Failure(Cause.HOST_UNFIT, f"A lent machine gave it back: {cause.phrase or failure.cause}.")


def refuse(session: Session, caller: Caller, arrived: Arrived, refused: Refused) -> MachineRefused:
    """Give a series back of which nothing counts; a machine that is shown to lie is out. Return the error to answer."""
    name, word = caller.host.name, refused.reason.value
    log.error("machine %s: series %d is refused (%s): %s", name, arrived.job.series_id, word, refused)
    finish_series(session, arrived.job, arrived.worker, (), Failure(Cause.MACHINE_LIED, f"{word}: {refused}"))
    if caller.trust is Trust.LOW:
        count_given_back(session, name)
    if refused.reason.proves:
        condemn(session, name, Found.LIES, f"What it sent does not follow from the rules: {refused}.")
    return MachineRefused(word, str(refused))
