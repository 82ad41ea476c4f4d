"""One process of a tournament: takes processors, plays the deals that it receives, and reports each game.

It releases its processors between two deals if another process is waiting, so that several people's tournaments take
turns. It ends on request, or when the tournament's own process is gone; its bots end with it.

The kernel places plain programs and their referee within a game's processors. A game of quick bots that was spread by
force over two of them took more than twice the CPU time: 10.6 ms instead of 4.2.
"""

import contextlib
import gc
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from deadheat.cli.local.play import Backend
from deadheat.cli.local.reserve import watching
from deadheat.cli.local.transcripts import keep
from deadheat.cli.tournament.records import TRANSCRIPTS, GameRecord, record_of
from deadheat.cli.tournament.schedule import Deal, Seated
from deadheat.engine.core import Game, Message, Reply, Seat, Transport, TransportError
from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.engine.transcript import Transcript
from deadheat.league.causes import Cause, Trait
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import ABOUT_TIME, Program, Sandbox, bot_limits
from deadheat.sandbox.host.slots import Hold, Processors

TURN_SECONDS = 2.0
"""The shortest time for which processors are kept while others wait."""

SAY_SECONDS = 0.1
"""The longest time that the parent may not know of a finished game, which is the most that a killed worker loses."""

IDLE_SECONDS = 0.2
"""How long a worker without a deal keeps its processors. The last deals may wait for them in another worker."""


@dataclass(frozen=True, slots=True)
class Job:
    """The data that a worker needs. All workers of a tournament have the same."""

    game: Game
    programs: tuple[Program, ...]
    open_sandbox: Callable[[], Sandbox]
    backend: str
    keep: str
    folder: Path
    locks: Path
    cpus: tuple[int, ...]
    """The processors to choose from, best first."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished game. `deal_done`: it was the last of its deal."""

    game: GameRecord
    deal_done: bool


@dataclass(frozen=True, slots=True)
class Voided:
    """An attempt that this machine spoiled. `given_up`: it was the last of its game; `deal_done`: also of its deal."""

    number: int
    cause: str
    detail: str
    given_up: bool
    deal_done: bool


@dataclass(frozen=True, slots=True)
class Waits:
    """The worker waits for processors that the `holders` have."""

    holders: tuple[str, ...]


Word = Ended | Voided | Waits | str
"""A message of a worker; a text is a sentence about why it cannot continue."""


class Stop(BaseException):
    """SIGTERM: close all boxes and end."""


class Stops:
    """Raises SIGTERM's exception only inside blocks of which it is the context manager, or on entering one if the
    signal came earlier.

    Raised anywhere else, it could leave behind an unknown process, or a lock of the standard library that nobody
    releases.
    """

    def __init__(self, asked: Callable[[], bool] = lambda: False) -> None:
        """`asked` is looked at on entering a block, where no signal comes."""
        self._asked_elsewhere = asked
        self._asked = self._allowed = False
        signal.signal(signal.SIGTERM, self._see)

    def _see(self, *_: object) -> None:
        self._asked = True
        if self._allowed:
            self._allowed = False
            raise Stop

    def __enter__(self) -> None:
        self._allowed = True
        if self._asked or self._asked_elsewhere():
            self._allowed = False
            raise Stop

    def __exit__(self, *_: object) -> None:
        self._allowed = False


@dataclass(frozen=True, slots=True)
class _Stoppable:
    """A transport whose exchanges SIGTERM interrupts."""

    transport: Transport
    stops: Stops

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        with self.stops:
            return self.transport.exchange(messages)


def work(job: Job, to_us: Connection, others: Sequence[Connection], asked: Callable[[], bool] = lambda: False) -> None:
    """Play the lists of deals that arrive on the connection. Only the parent should keep the connections `others`. It
    ends by SIGTERM, or when it is `asked`.
    """
    for other in others:
        other.close()
    gc.freeze()  # the parent's objects are neither garbage nor worth copying
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    stops = Stops(asked)
    try:
        with _Worker(job, to_us, stops) as worker:
            while True:
                if not to_us.poll(0):
                    worker.flush()
                    if not to_us.poll(IDLE_SECONDS):
                        worker.let_go()
                with stops:
                    deals = to_us.recv()
                for deal in deals:
                    worker.play(deal)
    except (Stop, EOFError, BrokenPipeError):
        pass
    except (TransportError, OSError) as error:
        lacks = (
            error.detail if isinstance(error, TransportError) else f"{error.filename or 'a worker'}: {error.strerror}"
        )
        with contextlib.suppress(OSError):
            to_us.send([lacks])


@dataclass
class _Worker:
    """The boxes and processors of one process. Use it as a context manager."""

    job: Job
    to_us: Connection
    stops: Stops
    _arena: Arena | None = None
    _table: tuple[int, ...] = ()
    _hold: Hold | None = None
    _held_at: float = 0.0
    _processors: Processors = field(init=False)
    _sandbox: Sandbox = field(init=False)
    _unsaid: list[Word] = field(default_factory=list)
    _say_at: float = 0.0
    _parent: int = field(default_factory=os.getppid)

    def __post_init__(self) -> None:
        self._sandbox = self.job.open_sandbox()
        self._processors = Processors(self.job.locks)

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def say(self, word: Word) -> None:
        """Queue a message for the parent. If each of a hundred a second were sent at once, that would disturb games."""
        self._unsaid.append(word)
        if time.monotonic() >= self._say_at:
            self.flush()

    def flush(self) -> None:
        if self._unsaid:
            self.to_us.send(self._unsaid)
            self._unsaid = []
        self._say_at = time.monotonic() + SAY_SECONDS

    def play(self, deal: Deal) -> None:
        """Play a deal's games, and report each as it ends. Raises TransportError if further attempts are futile."""
        if self._hold is not None and time.monotonic() - self._held_at > TURN_SECONDS and self._processors.wanted():
            self.let_go()
        if self._hold is None:
            self._take()
        if self._arena is None or self._table != deal.table:
            self._open(deal.table)
        assert self._arena is not None
        for seated in deal.games:
            self._play_game(self._arena, deal, seated, seated is deal.games[-1])

    def _take(self) -> None:
        def tell(holders: tuple[str, ...]) -> None:
            self.say(Waits(holders))
            self.flush()

        look = watching(self._processors, tell)

        def waiting() -> None:
            if os.getppid() != self._parent:
                raise EOFError
            look()

        with self.stops:
            self._hold = self._processors.take(1, self.job.cpus, waiting)
        self.say(Waits(()))
        self._held_at = time.monotonic()
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, self._hold.cpus)

    def _open(self, table: tuple[int, ...]) -> None:
        assert self._hold is not None
        if self._arena is not None:
            self._arena.close()
        programs = [self.job.programs[bot] for bot in table]
        limits, favoured = bot_limits(self._hold.cpus), self.job.backend == Backend.DOCKER
        self._arena = Arena(self._sandbox, programs, limits, favoured=favoured)
        self._table = table

    def let_go(self) -> None:
        """Close the boxes and release the processors; idempotent."""
        if self._arena is not None:
            self._arena.close()
            self._arena = None
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    def _play_game(self, arena: Arena, deal: Deal, seated: Seated, last: bool) -> None:
        seating = [self._table.index(bot) for bot in seated.players]
        players = [self.job.programs[bot].label for bot in seated.players]
        about = {"match": seated.number, "players": players, "sandbox": self.job.backend, **ABOUT_TIME}
        stoppable = partial(_Stoppable, stops=self.stops)
        for attempt in range(1, MATCH_ATTEMPTS + 1):
            began = time.monotonic()
            try:
                played = arena.play(self.job.game, seating, deal.seed, about, around=stoppable, attempt=attempt)
            except TransportError as error:
                if Trait.HOPELESS in Cause(error.cause).traits:
                    raise
                given_up = attempt == MATCH_ATTEMPTS
                self.say(Voided(seated.number, error.cause, error.detail, given_up, given_up and last))
                continue
            seconds = time.monotonic() - began
            path = None
            if self._is_kept(seated, played.transcript):
                path = f"{TRANSCRIPTS}/{seated.number:06}.jsonl"
                keep(self.job.folder / path, played)
            game = record_of(seated.number, players, deal.group, played.transcript, seconds, path)
            self.say(Ended(game, last))
            return

    def _is_kept(self, seated: Seated, transcript: Transcript) -> bool:
        """Return whether to keep a game. `lost` games are those that the first bot did not win, and faulty ones."""
        result, keep = transcript.result, self.job.keep
        if keep == "lost":
            places = zip(seated.players, result.ranks, strict=True)
            return bool(result.faults) or any(bot == 0 and rank > 1 for bot, rank in places)
        return keep == "all" or (keep == "faulty" and bool(result.faults))
