"""Plays the programs of a table: with the referee, boxes and clock of any match, and with database rows as the other
seats.

Theory of operation
-------------------
A person takes minutes, a bot milliseconds, so the match releases its resources meanwhile. Between two exchanges of the
bots their boxes rest (`Box.rest`: nothing in them runs or, if the kernel cannot pause them, everything else takes
precedence), and the slot of processors is free. It is taken again for every exchange, between two series of the league.
So a person who thinks, or has left, costs frozen rooms and this process, which has its own queue: a series never waits
for a person.

The table goes on without this process (`league.service.tables`): `Others` gives it the programs' replies, looks a few
times a second for those of people and agents, and keeps the lease. Programs answer under the limits of any match.

*A failure of the service* makes an attempt void, as always, and the match restarts, here with the same dice: this
benefits nobody and costs the person least. The programs are given the same lines again; as long as they say the same,
everybody's answers stay, so a restart usually goes unnoticed. Voids are counted in the row, whatever their cause and
whichever machine failed. After as many as end a match of bots, the person is notified and free. A worker that must stop
releases a match at once, and another one continues it. As with series, an unavailable database is waited for
(`insist`). So is the store once a match is over, because the bot might play it differently the next time; only the
person waits meanwhile.
"""

import logging
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count

from sqlalchemy.exc import SQLAlchemyError

from deadheat.engine.core import Message, Reply, Seat, Transport, TransportError
from deadheat.engine.games.variants import rules
from deadheat.engine.transcript import Transcript, encode
from deadheat.engine.unfinished import Replies, said
from deadheat.league.causes import ELSEWHERE, Cause, Trait
from deadheat.league.errors import BlobsAway
from deadheat.league.jobs import Failure
from deadheat.league.outcomes import latencies
from deadheat.league.service.series.hosts import blame_host, turn_away
from deadheat.league.service.tables.programs import (
    TABLES,
    TableJob,
    claim_next_table,
    exchange,
    give_back_table,
    heard,
    note_void,
    note_wait,
    stamped,
)
from deadheat.league.service.tables.turns import finish
from deadheat.league.telemetry import doing
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import bot_limits
from deadheat.workers import metrics
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

LOOK_SECONDS, MOST_LOOK_SECONDS = 0.2, 1.0
"""The interval between looks for the others' answers: as short as a person notices, or a tenth of what they have taken
already, since a look takes 0.7 ms on PostgreSQL, and most of a match is waiting.
"""

TELL_SECONDS = 1.0
"""The wait for a slot from which the person is told: until then, the bot seems to be thinking."""

VOID_PAUSE_SECONDS = 0.25
"""The pause after a match's first void attempt, doubled with each further one: four seconds in all after five."""


def play_table(context: Context, table_id: int) -> bool:
    """Play the programs of one table if it still waits. Return False if it waits for another machine."""
    who = (context.worker, context.host)
    job = take(context, TABLES, lambda session: claim_next_table(session, table_id, *who))
    if job is None:
        turn = partial(turn_away, life=TABLES, row_id=table_id, host=context.host)
        return not turned_away(context, f"exhibition {table_id}", turn)
    held = (job.table_id, job.attempt)
    try:
        with doing("exhibition", exhibition=job.table_id, attempt=job.attempt, game=job.game):
            log.info("exhibition %d attempt %d: %s in %d seats", job.table_id, job.attempt, job.game, job.seats)
            if job.season_id is not None:
                metrics.appear(job.game, job.season_id)
            heartbeat = Heartbeat.of(context, lambda session: TABLES.renew(session, *held))
            context.blobs.must_take()
            transcript = run(context, job, heartbeat)
            transcript = replace(transcript, about=insist(context, lambda session: stamped(session, job)))
            sha256 = store(context, transcript, heartbeat)
    except LeaseLost:
        log.warning("exhibition %d: the lease of attempt %d was lost", job.table_id, job.attempt)
    except Exception as error:  # noqa: BLE001  any other error is ours: it is played again
        failure = failure_of(TABLES, f"exhibition {job.table_id} attempt {job.attempt}", error)
        failed, void = (*held, context.worker, failure, context.host), isinstance(error, TransportError)
        insist(context, lambda session: give_back_table(session, *failed, void=void))
    else:
        with doing("finish", exhibition=job.table_id):
            over = (*held, transcript.result, sha256, transcript)
            ended = insist(context, lambda session: finish(session, *over))
            if ended and job.season_id is not None:
                metrics.record([transcript], latencies(transcript), job.season_id)
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


def run(context: Context, job: TableJob, heartbeat: Callable[[], None]) -> Transcript:
    """Play the match to its end, and repeat void attempts.

    Raises:
        LeaseLost. TransportError: too many attempts were void, or another machine may succeed.
    """
    slots = context.slots
    cpus = slots.slots[job.table_id % len(slots.slots)]
    others = Others(context, job, heartbeat)
    hold = partial(turn, context, job, heartbeat, cpus)
    places = [*job.programs]

    with context.folder(PLAY) as folder:
        programs = [fetch_program(context, job.programs[seat], folder / str(seat)) for seat in places]
        with Arena(context.sandbox, programs, bot_limits(cpus), slots.referee(cpus)) as arena:
            voids = 0
            while True:
                try:
                    game = rules(job.game, job.variant)
                    seated = others.sit_down, places
                    return arena.play_beside(game, job.seats, job.seed, job.about, hold, *seated, heartbeat).transcript
                except TransportError as error:
                    voids += 1
                    log.warning("exhibition %d is void: %s: %s", job.table_id, error.cause, error.detail)
                    if Trait.CONDEMNS in Cause(error.cause).traits:  # even if this process reports nothing more
                        insist(context, partial(blame_host, host=context.host, cause=error.cause, detail=error.detail))
                    if error.cause in ELSEWHERE or not others.told(Failure(error.cause, error.detail)):
                        raise  # nothing can be played here, or the match has failed too often
                    time.sleep(VOID_PAUSE_SECONDS * 2 ** (voids - 1))  # a busy host may recover
                    heartbeat()


@contextmanager
def turn(
    context: Context, job: TableJob, heartbeat: Callable[[], None], cpus: tuple[int, ...]
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


class Others:
    """The answers of the others at a table: people, agents, and the programs in earlier attempts."""

    def __init__(self, context: Context, job: TableJob, heartbeat: Callable[[], None]) -> None:
        self._context = context
        self._job = job
        self._heartbeat = heartbeat
        self._replies: list[Mapping[Seat, Reply]] = [*job.replies]

    def sit_down(self, programs: Transport) -> Transport:
        """Make the next attempt's transport for all seats."""
        return _Table(programs, self, self._job.programs)

    def told(self, failure: Failure) -> bool:
        """Report a void attempt. Return whether there will be another one."""
        return insist(self._context, lambda session: note_void(session, self._job, failure))

    def replies(self, number: int, ours: Mapping[Seat, Reply]) -> Mapping[Seat, Reply]:
        """Return the replies of all seats to step `number`, and wait for them. Raises LeaseLost."""
        known = self._replies[number : number + 1]
        if not known or said([{**known[0], **ours}]) != said(known):
            put = insist(self._context, lambda session: exchange(session, self._job, number, ours))
            self._learn(number, put)
        began = time.monotonic()
        while len(self._replies) <= number:
            self._heartbeat()
            time.sleep(max(LOOK_SECONDS, min(MOST_LOOK_SECONDS, (time.monotonic() - began) / 10)))
            self._look(number)
        return {**self._replies[number], **ours}

    def _learn(self, number: int, replies: Replies | None) -> None:
        if replies is None:
            raise LeaseLost
        self._replies[number:] = replies

    def _look(self, number: int) -> None:
        """Look for answers. If the database is unavailable, it may come back before the lease ends."""
        try:
            with self._context.database.reading() as session:
                found = heard(session, self._job, number)
        except SQLAlchemyError as error:
            log.warning("exhibition %d: nobody can be heard: %s", self._job.table_id, error)
        else:
            self._learn(number, found)


class _Table:
    """A transport that asks programs for their seats, and the table for the others."""

    def __init__(self, programs: Transport, others: Others, places: Container[Seat]) -> None:
        self._programs = programs
        self._others = others
        self._places = places
        self._steps = count()

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        theirs = [message for message in messages if message.seat in self._places]
        ours = self._programs.exchange(theirs) if theirs else {}
        return self._others.replies(next(self._steps), ours)
