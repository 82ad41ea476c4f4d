"""A series: the same programs in their boxes, match after match. Judge and local kit share this code.

A box is opened when it is first needed, and then kept; every match starts fresh processes in it. After a failure of the
service all boxes are discarded. All bots of a match share one processor, and one of them has it: the one that is asked
(ruling C-17). The others have the least weight, so they run only while that one sleeps.

The referee stays away from the bots' processor where it can: if a kernel is not preemptible, a bot can hold its
processor for tens of milliseconds with one system call.

A read or write of a pipe sleeps while the other end holds the pipe's lock, even without blocking, and no signal wakes
it. A bot can hold the lock for as long as it likes. So another thread of the referee's process looks at it every
second, and kills the bot that holds it for `HELD_LOOKS` looks. Looks are counted, not seconds: if the whole process was
stopped, none was made.
"""

import contextlib
import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import SystemRandom
from weakref import WeakKeyDictionary

from deadheat.engine.chance import turns_seed
from deadheat.engine.core import NS_PER_S, Fault, Game, Message, Reply, Seat, Transport, TransportError
from deadheat.engine.figures import seat_number
from deadheat.engine.own_time import WATCH_NS
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.sandbox.box import Box, Channel, Exit, Limits, Program, Sandbox, SandboxError
from deadheat.sandbox.elsewhere import Threaded, WallClock
from deadheat.sandbox.host.slots import pinned
from deadheat.sandbox.pipes import InTurn, PipeTransport

log = logging.getLogger(__name__)

FINISH_GRACE_NS = NS_PER_S
"""How long a bot may take to exit after FINISH (ruling C-10)."""

REALTIME_PRIORITY = 1
"""The lowest real-time priority. It is above all normal ones, and none of our other processes uses one."""

LOOK_SECONDS, HELD_LOOKS = 1.0, 5

Holding = Callable[[], contextlib.AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Played:
    """One match that has been played to its end."""

    transcript: Transcript
    exits: Mapping[Seat, Exit]  # without a seat whose box failed after the result was fixed


class Arena(contextlib.AbstractContextManager["Arena"]):
    """Boxes for `programs`, kept during a series. Close the arena, or use it as a context manager."""

    def __init__(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        limits: Limits,
        referee_cpus: Collection[int] = (),
        favoured: bool = True,
        watch_ns: int = WATCH_NS,
    ) -> None:
        """`limits` are those of every box. `referee_cpus` are processors without bots, if there are any. A referee that
        is not `favoured` runs like an ordinary program. Silent seats are watched for `watch_ns` past a deadline.
        """
        self._sandbox = sandbox
        self._programs = programs
        self._limits = limits
        self._away_from_bots = referee_cpus or limits.cpu_numbers
        self._favoured = favoured
        self._watch_ns = watch_ns
        self._boxes: dict[int, Box] = {}
        self._turns = InTurn((), b"")
        self._referee: _Referee | None = None  # of the newest match

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Open every box that is not open yet, in an order that tells bots nothing. Raises SandboxError."""
        for player in SystemRandom().sample(range(len(self._programs)), len(self._programs)):
            if player not in self._boxes:
                self._boxes[player] = self._sandbox.open(self._programs[player], self._limits)

    def play(
        self,
        game: Game,
        seating: Sequence[int],
        seed: bytes,
        about: Mapping[str, object],
        between: Callable[[], None] = lambda: None,
        around: Callable[[Transport], Transport] = lambda transport: transport,
        attempt: int = 1,
    ) -> Played:
        """Play one match with the dice of its n-th attempt; `seating[seat]` is the index of the program in that seat.

        `between` is called before every exchange, and now and then while a late seat is watched; use it for a
        heartbeat. `around` gets the match's transport and returns the one to use; use it to listen. Raises
        TransportError: the attempt is void. All boxes are closed; the next match opens new ones.
        """
        try:
            self.open()
            pipes = self._begin(seating, seed, attempt, between)
            with quiet(self._away_from_bots) if self._favoured else uncollected():
                transcript = run_match(game, len(seating), seed, around(pipes), about, attempt)
            return Played(transcript, self._stop(dict(enumerate(seating)), transcript))
        except BaseException:
            self.close()
            raise

    def play_beside(
        self,
        game: Game,
        seats: int,
        seed: bytes,
        about: Mapping[str, object],
        hold: Holding,
        with_person: Callable[[Transport], Transport],
        places: Sequence[Seat],
        heartbeat: Callable[[], None] = lambda: None,
        attempt: int = 1,
    ) -> Played:
        """Play one match in which the programs have the seats `places`, and a person who takes minutes has the others.

        `with_person` gets the programs' transport and returns one for all `seats`. Between two of their exchanges the
        programs rest, and `hold` is released. `heartbeat` continues while a late seat is watched. Raises as `play`.
        """
        try:
            seating = dict(zip(places, range(len(self._programs)), strict=True))
            with hold():
                self.open()
                pipes = self._begin([*seating.values()], seed, attempt, heartbeat)
                self._rest(True)
            resting = _Resting(pipes, places, partial(self._awake, hold))
            transcript = run_match(game, seats, seed, with_person(resting), about, attempt)
            with hold():
                self._rest(False)
                return Played(transcript, self._stop(seating, transcript))
        except BaseException:
            self.close()
            raise

    def _begin(
        self, seating: Sequence[int], seed: bytes, attempt: int, heartbeat: Callable[[], None]
    ) -> PipeTransport | WallClock:
        """Start the programs of a match."""
        boxes = [self._boxes[player] for player in seating]
        self._turns = InTurn(boxes, turns_seed(seed, attempt))
        channels = [box.start() for box in boxes]
        if threaded := [channel for channel in channels if isinstance(channel, Threaded)]:
            return WallClock(threaded, heartbeat, self._turns)
        self._referee = _Referee(channels)
        return PipeTransport(channels, heartbeat, self._turns, self._watch_ns)

    @contextlib.contextmanager
    def _awake(self, hold: Holding) -> Iterator[None]:
        """Let the boxes run, without disturbances of the clock."""
        with hold():
            self._rest(False)
            with quiet(self._away_from_bots):
                yield
            self._rest(True)

    def _rest(self, yes: bool) -> None:
        for box in self._boxes.values():
            box.rest(yes)

    def close(self) -> None:
        """Close every box; idempotent."""
        while self._boxes:
            self._boxes.popitem()[1].close()

    def _stop(self, seating: Mapping[Seat, int], transcript: Transcript) -> dict[Seat, Exit]:
        """End every process. The match is void if a box cannot confirm the end of a bot that "exited"."""
        self._turns.give(None)
        failed: dict[Seat, SandboxError] = {}
        exits: dict[Seat, Exit] = {}
        for seat, player in seating.items():
            # A bot that closed its output is about to become a zombie; its exit code is worth the wait.
            fault = transcript.result.faults.get(seat)
            grace_ns = FINISH_GRACE_NS if fault in (None, Fault.EXITED, Fault.MEMORY) else 0
            with _collect(failed, seat):
                self._boxes[player].ask_stop(grace_ns)
        for seat, player in [*seating.items()][::-1]:  # the last first, so that none looks for its children among them
            if seat not in failed:
                with _collect(failed, seat):
                    exits[seat] = self._boxes[player].stopped()
        for seat, error in failed.items():
            # The box itself is gone: the end of file that we saw may not have been the bot's doing. (After
            # Fault.MEMORY there is other evidence, and no bot can make its box merely *look* dead.)
            if transcript.result.faults.get(seat) is Fault.EXITED and error.cause == "container-died":
                raise TransportError(error.cause, f"seat {seat_number(seat)}: {error.detail}", seat=seat) from error
            label = self._programs[seating[seat]].label
            log.info("the box of %s cannot be used again: %s: %s", label, error.cause, error.detail)
        if failed:
            self.close()  # all of them: what broke one may be what holds the others, too
        return exits


class _Resting:
    """A transport for programs that pause between two exchanges; the n-th has the n-th seat of `places`."""

    def __init__(self, transport: Transport, places: Sequence[Seat], awake: Holding) -> None:
        self._transport = transport
        self._places = places
        self._awake = awake

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        theirs = [message._replace(seat=self._places.index(message.seat)) for message in messages]
        with self._awake():
            replies = self._transport.exchange(theirs)
        return {self._places[player]: reply for player, reply in replies.items()}


_watched: "WeakKeyDictionary[_Referee, None]" = WeakKeyDictionary()
_thread: dict[str, threading.Thread] = {}
"""The thread that looks, once it is needed. No lock guards it: a fork might keep one locked for ever."""


class _Referee:
    """The channels that a thread of this process reads and writes."""

    def __init__(self, channels: Collection[Channel]) -> None:
        self._channels = channels
        self._status = Path(f"/proc/self/task/{threading.get_native_id()}/stat")
        self._call: tuple[Channel, int] | None = None  # in which the thread slept at the last look
        self._looks = 0
        _watched[self] = None
        if not _thread:
            made = threading.Thread(target=_watch, name="held", daemon=True)
            if _thread.setdefault("", made) is made:
                made.start()

    def look(self) -> None:
        """Kill a bot in whose pipe the referee has slept since `HELD_LOOKS` looks."""
        stuck = next((channel for channel in self._channels if channel.inside), None)
        call = None
        if stuck is not None and self._status.read_bytes().rpartition(b")")[2].split()[0] == b"D":
            call = stuck, stuck.calls
        self._looks = self._looks + 1 if call == self._call else 1
        self._call = call
        if stuck is not None and call is not None and self._looks == HELD_LOOKS:
            log.warning("a bot that held a pipe is killed")
            stuck.killed = True
            stuck.kill()


def _watch() -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        referees: list[_Referee] = []
        with contextlib.suppress(RuntimeError):  # another match has just begun: the next look finds it
            referees = [*_watched]
        while referees:
            with contextlib.suppress(OSError):  # its thread has just ended
                referees.pop().look()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread.clear)


@contextlib.contextmanager
def _collect(failed: dict[Seat, SandboxError], seat: Seat) -> Iterator[None]:
    try:
        yield
    except SandboxError as error:
        failed[seat] = error


@contextlib.contextmanager
def quiet(cpus: Collection[int] = ()) -> Iterator[None]:
    """Keep disturbances from the clock: no garbage collection, real-time priority if permitted, these processors."""
    with uncollected(), pinned(cpus), _realtime():
        yield


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Put off garbage collection until after the block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _realtime() -> Iterator[None]:
    if not hasattr(os, "sched_setscheduler"):
        yield
        return
    before, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        # RESET_ON_FORK: no bot and no child process may inherit it.
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, parameter)
