"""Plays a person's match against bots: with the referee, boxes and clock of any match, and a database row as a seat.

Theory of operation
-------------------
A person takes minutes, a bot milliseconds, so the match releases its resources meanwhile. Between two exchanges of the
bots their boxes rest (`Box.rest`: nothing in them runs or, if the kernel cannot pause them, everything else takes
precedence), and the slot of processors is free. It is taken again for every exchange, between two series of the league.
So a person who thinks, or has left, costs frozen rooms and this process, which has its own queue: a series never waits
for a person.

`Person` asks the person through the database, polls the answer there a few times a second, and keeps the lease. Bots
that are asked in the same step answer first, under the limits of any match; nobody learns anything before all have
answered. READY is answered for the person.

*The person's clock is not the game's.* An answer is recorded with 0 ns: a move has a limit of minutes
(`exhibition_move_seconds`), a time bank does not run, and the transcript verifies like any other. Resigning is recorded
as `exited`, running out of time as `timeout`. Answers that the rules refuse do not get here
(`league.service.jobs.exhibitions`). A person who has resigned is free at once; the bots play on for the record.

*A failure of the service* makes an attempt void, as always, and the match restarts, here with the same dice: this
benefits nobody and costs the person least. The person's answers, including one given between attempts, are repeated as
long as the bots say the same as before, so a restart usually goes unnoticed. Voids are counted in the row, whatever
their cause and whichever machine failed. After as many as end a match of bots, the person is notified and free. A
worker that must stop releases a match at once, and another one continues it. As with series, an unavailable database is
waited for (`insist`). So is the store once a match is over, because the bot might play it differently the next time;
only the person waits meanwhile.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from deadheat.engine.core import Fault, Message, Reply, Seat, Transport, TransportError
from deadheat.engine.games.variants import rules
from deadheat.engine.transcript import Transcript, encode
from deadheat.engine.unfinished import Replies, said
from deadheat.league.causes import ELSEWHERE, Cause, Trait
from deadheat.league.errors import BlobsAway
from deadheat.league.service.jobs.exhibiting import (
    EXHIBITIONS,
    ExhibitionJob,
    Heard,
    ask_person,
    claim_next_exhibition,
    finish_exhibition,
    hear_person,
    note_void,
    note_wait,
    release_exhibition,
    renew_exhibition,
)
from deadheat.league.service.series.hosts import blame_host, turn_away
from deadheat.league.telemetry import doing
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import bot_limits
from deadheat.workers.context import PLAY, Context, fetch_program
from deadheat.workers.holding import (
    INSIST_SECONDS,
    RETRY_SECONDS,
    Heartbeat,
    LeaseLost,
    failure_of,
    insist,
    take,
    turned_away,
)

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
"""The interval between looks for the person's answer: as short as a person notices, and five short reads a second."""

TELL_SECONDS = 1.0
"""The wait for a slot from which the person is told: until then, the bot seems to be thinking."""

VOID_PAUSE_SECONDS = 0.25
"""The pause after a match's first void attempt, doubled with each further one: four seconds in all after five."""


def play_exhibition(context: Context, exhibition_id: int) -> bool:
    """Carry out one exhibition if it still waits. Return False if it waits for another machine."""
    who = (context.worker, context.host)
    job = take(context, EXHIBITIONS, lambda session: claim_next_exhibition(session, exhibition_id, *who))
    if job is None:
        turn = partial(turn_away, life=EXHIBITIONS, row_id=exhibition_id, host=context.host)
        return not turned_away(context, f"exhibition {exhibition_id}", turn)
    try:
        with doing("exhibition", exhibition=job.exhibition_id, attempt=job.attempt, game=job.game):
            log.info("exhibition %d attempt %d: %s in %d seats", job.exhibition_id, job.attempt, job.game, job.seats)
            heartbeat = Heartbeat(context, lambda session: renew_exhibition(session, job))
            context.blobs.must_take()
            transcript = run(context, job, heartbeat)
            sha256 = store(context, transcript, heartbeat)
    except LeaseLost:
        log.warning("exhibition %d: the lease of attempt %d was lost", job.exhibition_id, job.attempt)
    except Exception as error:  # noqa: BLE001  any other error is ours: it is played again
        failure = failure_of(EXHIBITIONS, f"exhibition {job.exhibition_id} attempt {job.attempt}", error)
        where, void = (context.worker, failure, context.host), isinstance(error, TransportError)
        insist(context, lambda session: release_exhibition(session, job, *where, void=void))
    else:
        with doing("finish", exhibition=job.exhibition_id):
            insist(context, lambda session: finish_exhibition(session, job, transcript.result, sha256))
    return True


def store(context: Context, transcript: Transcript, heartbeat: Callable[[], None]) -> str:
    """Write the transcript and return its name. Raises BlobsAway (the store stays unavailable), LeaseLost."""
    give_up_at, warned = time.monotonic() + INSIST_SECONDS, False
    while True:
        try:
            return context.blobs.put(encode(transcript))
        except BlobsAway as error:
            if time.monotonic() > give_up_at:
                raise
            if not warned:
                log.warning("the store is away, trying again for %d s: %s", INSIST_SECONDS, error.why)
            warned = True
        heartbeat()
        time.sleep(RETRY_SECONDS)


def run(context: Context, job: ExhibitionJob, heartbeat: Callable[[], None]) -> Transcript:
    """Play the match to its end, and repeat void attempts.

    Raises:
        LeaseLost. TransportError: too many attempts were void, or another machine may succeed.
    """
    slots = context.slots
    cpus = slots.slots[job.exhibition_id % len(slots.slots)]
    person = Person(context, job, heartbeat)
    hold = partial(turn, context, job, heartbeat, cpus)
    places = [seat for seat in range(job.seats) if seat != job.seat]
    players = job.seats * [job.program.label]
    players[job.seat] = job.person
    about = {"exhibition": job.exhibition_id, "players": players, "person": job.seat}

    with context.folder(PLAY) as folder:
        programs = [fetch_program(context, job.program, folder / str(seat)) for seat in places]
        with Arena(context.sandbox, programs, bot_limits(cpus), slots.referee(cpus)) as arena:
            voids = 0
            while True:
                try:
                    game = rules(job.game, job.variant)
                    seated = person.sits_down, places
                    return arena.play_beside(game, job.seats, job.seed, about, hold, *seated, heartbeat).transcript
                except TransportError as error:
                    voids += 1
                    log.warning("exhibition %d is void: %s: %s", job.exhibition_id, error.cause, error.detail)
                    if Trait.CONDEMNS in Cause(error.cause).traits:  # even if this process reports nothing more
                        insist(context, partial(blame_host, host=context.host, cause=error.cause, detail=error.detail))
                    if error.cause in ELSEWHERE or not person.told(error.cause):
                        raise  # nothing can be played here, or the match has failed too often
                    time.sleep(VOID_PAUSE_SECONDS * 2 ** (voids - 1))  # a busy host may recover
                    heartbeat()


@contextmanager
def turn(
    context: Context, job: ExhibitionJob, heartbeat: Callable[[], None], cpus: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Take the slot for an exchange, before the next series, and tell the person if that takes a while."""
    tell_at, is_noted = time.monotonic() + TELL_SECONDS, False

    def waiting() -> None:
        nonlocal is_noted
        heartbeat()
        if not is_noted and time.monotonic() > tell_at:
            is_noted = insist(context, lambda session: note_wait(session, job, True))
            if not is_noted:
                raise LeaseLost

    with context.slots.take(waiting, only=cpus) as slot:
        if is_noted:
            insist(context, lambda session: note_wait(session, job, False))
        yield slot


class Person:
    """Asks the person of one exhibition, receives the answers, and remembers those of earlier attempts."""

    def __init__(self, context: Context, job: ExhibitionJob, heartbeat: Callable[[], None]) -> None:
        self.seat = job.seat
        self._context = context
        self._job = job
        self._heartbeat = heartbeat
        self._before: Replies = job.replies
        self._now: list[Mapping[Seat, Reply]] = []

    def sits_down(self, bots: Transport) -> Transport:
        """Make the next attempt's transport for all seats."""
        self._before = max(self._before, self._now, key=len)
        self._now = []
        return _Table(bots, self)

    def told(self, cause: str) -> bool:
        """Report a void attempt. Return whether there will be another one."""
        return insist(self._context, lambda session: note_void(session, self._job, cause))

    def happened(self, replies: Mapping[Seat, Reply]) -> None:
        """Remember the replies of an exchange that is over."""
        self._now.append(replies)

    def remembered(self) -> Reply | None:
        """Return the person's answer at this point of an earlier attempt, if everything has gone the same way since."""
        number = len(self._now)
        if number >= len(self._before) or said(self._now) != said(self._before[:number]):
            return None
        return self._before[number].get(self.seat)

    def ask(self) -> None:
        """Store the match so far, and ask the person to answer."""
        if not insist(self._context, lambda session: ask_person(session, self._job, self._now)):
            raise LeaseLost

    def hear(self, limit_ns: int) -> Reply:
        """Wait for the person's answer. Raises LeaseLost."""
        while True:
            heard = self._look()
            if heard is not None and heard.answer is not None:
                return Reply(heard.answer, 0)
            if heard is not None and heard.resigned:
                return Reply(None, 0, Fault.EXITED)
            if heard is not None and heard.late:
                return Reply(None, limit_ns, Fault.TIMEOUT)
            self._heartbeat()
            time.sleep(LOOK_SECONDS)

    def _look(self) -> Heard | None:
        """Look for the answer. Return None if the database is unavailable; it may come back before the lease ends."""
        try:
            with self._context.database.reading() as session:
                heard = hear_person(session, self._job)
        except SQLAlchemyError as error:
            log.warning("exhibition %d: the person cannot be reached: %s", self._job.exhibition_id, error)
            return None
        if heard is None:
            raise LeaseLost
        return heard


class _Table:
    """A transport that asks bots for their seats and a person for the remaining one."""

    def __init__(self, bots: Transport, person: Person) -> None:
        self._bots = bots
        self._person = person

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        person = self._person
        mine = next((m for m in messages if m.seat == person.seat and m.limit_ns is not None), None)
        known = Reply("OK", 0) if mine is not None and mine.command == "READY" else person.remembered()
        if mine is not None and known is None:
            person.ask()
        theirs = [message for message in messages if message.seat != person.seat]
        replies = dict(self._bots.exchange(theirs)) if theirs else {}
        if mine is not None:
            assert mine.limit_ns is not None
            replies[person.seat] = known or person.hear(mine.limit_ns)
        person.happened(replies)
        return replies
