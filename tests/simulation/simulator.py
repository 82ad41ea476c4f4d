"""The play path in simulated time: workers, schedulers and keepers that are killed, stopped and cut off, by one seed.

Theory of operation
-------------------
The code is the product's own: `workers.tasks`, `workers.play`, `league.service`, and a real (SQLite) database. What is
around it is simulated: time, the queue, machines, and the arena, whose matches are those of the real engine with bots
of a few lines. Each process is a greenlet. It runs until it would wait or comes to a point where it may take harm; then
the simulator lets the one go on whose time has come, so a whole hour of a league takes some milliseconds, and a seed
decides everything.

What may happen at such a point, which is wherever the process begins or ends a transaction, writes a blob or waits:
it is killed (in mid-transaction too, which undoes it), stopped past its lease, finds the database away, or loses the
answer to a commit that took place. Messages are lost, doubled and late, clocks are wrong, blobs cannot be written,
matches are void, machines are found unfit, and an organiser interferes. After a while the storm is over; then
everything must be in order again within a stated time.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from greenlet import GreenletExit, getcurrent, greenlet
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col, select

from engine.core import Game, TransportError
from engine.memory import MemoryTransport, Player
from engine.referee import run_match
from league import errors, service
from league.blobs import Blobs
from league.database import Database
from league.jobs import Host
from league.service.users import Person
from league.states import UNFINISHED, MatchState, Role
from league.tables import Attempt, BotVersion, Match, Series
from sandbox.arena import Played
from tests.bots.loading import in_process
from tests.invariants import broken
from tests.league.world import GAME, START, World, settings
from workers import play, tasks
from workers.context import BOTS

WORKERS = 3
SCHEDULERS = 2
STORM_SECONDS = 100
CALM_SECONDS = 300
LOOK_SECONDS = 20
"""Within this time after the storm all work must be done: leases run out, messages are sent again, retries pause, and
the series are played.
"""

REDELIVERY_SECONDS = 90
"""When the broker hands a dead worker's message to another one, if it has not forgotten it."""

EXPLAINED = ("played", "host-starved", "lease-expired", "host-unfit", "blobs-away", "database-away")

RANDOM_BOT = in_process(BOTS / GAME / "random")
BOSS = Person(1, "boss", Role.ORGANISER)


class Killed(GreenletExit):
    """The process ends here and now: nothing of it runs on but what lies in memory alone."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How likely each kind of harm is, at each point where it may happen."""

    kill: float = 0.0
    stop: float = 0.0
    database_away: float = 0.0
    answer_lost: float = 0.0
    message_lost: float = 0.0
    message_doubled: float = 0.0
    blob_refused: float = 0.0
    void: float = 0.0
    unfit: float = 0.0
    interfere: float = 0.0

    @classmethod
    def of(cls, chance: random.Random) -> Weather:
        """A storm with some of it, each mild or heavy."""
        harms = {name: chance.choice([0.0, 0.02, 0.1]) for name in cls.__slots__}
        return cls(**{**harms, "message_lost": harms["message_lost"] * 3, "void": harms["void"] * 3})


CALM = Weather()
ROUGH = Weather(kill=0.03, stop=0.06, message_doubled=0.2)
"""What most often brings two workers to one series."""


@dataclass
class Process:
    """One process of the cluster: what it runs, again and again, and how wrong its clock is."""

    name: str
    host: Host
    main: Callable[[], None]
    skew_seconds: float = 0.0
    running: greenlet | None = None


@dataclass
class Stage:
    """What all seeds share: a league's database as it is before the first match, and its connections."""

    folder: Path
    simulator: Simulator | None = None
    prepared: Path = field(init=False)

    def __post_init__(self) -> None:
        self.settings = settings(self.folder / "run", match_attempts=2, series_attempts=20, refit_seconds=20)
        world = World(settings(self.folder / "prepared", refit_seconds=20))
        world.season(2, games_per_pair=4, series_length=2)
        self.series_ids = world.tick()
        with world.db.reading() as session:
            self.programs = [f"built {version_id}".encode() for version_id in session.exec(select(BotVersion.id))]
        world.close()
        self.prepared = self.folder / "prepared" / "deadheat.sqlite3"
        self.settings.data_dir.mkdir()
        self.database = StormyDatabase(self)

    def reset(self) -> None:
        """The league as it was prepared."""
        self.database.close()
        for suffix in ("-wal", "-shm"):
            (self.settings.data_dir / f"deadheat.sqlite3{suffix}").unlink(missing_ok=True)
        shutil.copy(self.prepared, self.settings.data_dir)

    def clock(self) -> datetime:
        """What the present process takes the time to be."""
        return self.now.clock()

    def entropy(self, count: int) -> bytes:
        """As random as the seed."""
        return self.now.chance.randbytes(count)

    @property
    def now(self) -> Simulator:
        """The simulation that is under way."""
        assert self.simulator is not None
        return self.simulator


class StormyDatabase(Database):
    """The real one, which may fail and whose users may die."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.settings, stage.clock, stage.entropy)
        self._stage = stage

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """As `Database.transaction`; nobody else runs between its begin and its end."""
        simulator = self._stage.now
        simulator.pause()
        simulator.maybe_fail(simulator.weather.database_away)
        with super().transaction() as session:
            yield session
            simulator.maybe_die()
        simulator.maybe_fail(simulator.weather.answer_lost)
        simulator.pause()


class StormyBlobs(Blobs):
    """Memory, sometimes full."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__("memory://")
        self._simulator = simulator

    def put(self, data: bytes) -> str:
        """As `Blobs.put`."""
        self._simulator.pause()
        if self._simulator.happens(self._simulator.weather.blob_refused):
            raise errors.BlobsAway("no space left on device")
        name = super().put(data)
        self._simulator.pause()
        return name


class Arena:
    """In the place of `sandbox.arena.Arena`: the real engine and referee, bots of a few lines, no processes."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def open(self) -> None:
        """Takes its time."""
        self._simulator.pause(0.5)

    def play(
        self,
        game: Game,
        seating: Sequence[int],
        seed: bytes,
        about: Mapping[str, object],
        between: Callable[[], None],
        *_listeners: object,
    ) -> Played:
        """As `sandbox.arena.Arena.play`; bots take chances, so no two attempts are alike."""
        chance = self._simulator.chance
        for _ in range(3):
            between()
            self._simulator.pause(chance.uniform(0, 3))
        if self._simulator.happens(self._simulator.weather.void):
            raise TransportError("host-starved", "simulated", stolen_ms=7)
        players: list[Player] = [self._simulator.bot() for _ in seating]
        return Played(run_match(game, len(seating), seed, MemoryTransport(players), about), {})


@dataclass
class SimulatedContext:
    """What `workers.context.Context` is to the tasks."""

    simulator: Simulator

    def __post_init__(self) -> None:
        self.settings, self.database = self.simulator.stage.settings, self.simulator.stage.database
        self.blobs, self.sandbox, self.slots = self.simulator.blobs, None, self

    spare = ()

    @property
    def host(self) -> Host:
        """The machine of the process that asks."""
        return self.simulator.process.host

    @property
    def worker(self) -> str:
        """Its name."""
        return self.simulator.process.name

    @contextlib.contextmanager
    def take(self) -> Iterator[tuple[int, ...]]:
        """A slot: each machine has one and one worker."""
        yield (0,)

    @contextlib.contextmanager
    def folder(self, _: str) -> Iterator[Path]:
        """Nothing is written there."""
        yield self.settings.data_dir


class Simulator:
    """One seed's storm and what comes after it."""

    def __init__(self, stage: Stage, seed: int, weather: Weather | None = None) -> None:
        self.stage, self.chance = stage, random.Random(seed)
        self.weather = weather or Weather.of(self.chance)
        self.seconds = 0.0
        self.messages = [(0.0, series_id) for series_id in stage.series_ids]
        self.trace: list[tuple[float, str, str]] = []
        self.blobs = StormyBlobs(self)
        for content in stage.programs:
            Blobs.put(self.blobs, content)
        self.context = SimulatedContext(self)
        self.waiting: list[tuple[float, int, Process]] = []
        self._order = itertools.count()
        self.hosts = [Host(f"machine{number}", "boot") for number in range(WORKERS)]
        self.processes = [
            *(Process(f"{host.name}:1", host, self.work, self.chance.choice([0, 0, -40, 40])) for host in self.hosts),
            *(Process(f"scheduler{number}", self.hosts[0], self.schedule) for number in range(SCHEDULERS)),
            Process("keepers", self.hosts[0], self.keep),
            Process("organiser", self.hosts[0], self.interfere),
        ]
        self.process = self.processes[0]

    # --- What happens to processes ------------------------------------------------------------------------------

    def run(self) -> list[str]:
        """Everything that is wrong in the end; nothing where all is well."""
        self.stage.simulator = self
        self.stage.reset()
        with self.instead():
            for process in self.processes:
                self.start(process)
            self.run_until(STORM_SECONDS)
            self.weather = CALM
            for process in self.processes:
                process.skew_seconds = 0
            self.run_until_done()
            for process in self.processes:
                if process.running:
                    process.running.throw(Killed)
        with self.stage.database.reading() as session:
            looked = (
                broken(session, self.blobs),
                self.unfinished(session),
                self.unranked(session),
                self.other(session),
            )
            return [sentence for sentences in looked for sentence in sentences]

    def other(self, session: Session) -> list[str]:
        """Failures that no storm explains are bugs, of the product or of this simulation."""
        found = session.exec(select(Attempt.cause, Attempt.detail).where(col(Attempt.cause).not_in(EXPLAINED)))
        return [f"an attempt failed by {cause}: {detail}" for cause, detail in found]

    def unfinished(self, session: Session) -> list[str]:
        """Nothing may wait or be played any more."""
        found = session.exec(select(Series).where(col(Series.state).in_(UNFINISHED)))
        return [f"series {series.id} is {series.state} at attempt {series.attempt}" for series in found]

    def unranked(self, session: Session) -> list[str]:
        """The ranking must have caught up."""
        return [f"a refit of season {season_id} is due" for season_id in service.seasons_to_refit(session)]

    def start(self, process: Process) -> None:
        process.running = greenlet(process.main)
        self.wait(process, self.chance.random())

    def run_until(self, seconds: float) -> None:
        """Let each process go on when its time has come, and start those again that died."""
        while self.waiting[0][0] <= seconds:
            self.seconds, _, self.process = heapq.heappop(self.waiting)
            assert self.process.running is not None
            self.process.running.switch()
            if self.process.running.dead:
                self.note("died")
                self.start(self.process)
        self.seconds = seconds

    def run_until_done(self) -> None:
        """The storm is over: on until nothing is left to do, or the time for it has passed."""
        while self.seconds < STORM_SECONDS + CALM_SECONDS:
            self.run_until(self.seconds + LOOK_SECONDS)
            with self.stage.database.reading() as session:
                if not self.unfinished(session):
                    break
        tasks.tick.run()
        self.run_until(self.seconds + self.stage.settings.refit_seconds)
        tasks.refit.run()

    def wait(self, process: Process, seconds: float) -> None:
        heapq.heappush(self.waiting, (self.seconds + seconds, next(self._order), process))

    def pause(self, seconds: float = 0.0) -> None:
        """The present process waits, and may be stopped for long or killed meanwhile."""
        simulation = getcurrent().parent
        if simulation is None:  # nobody waits: the simulation itself looks for what is left to do
            return
        if self.happens(self.weather.stop):
            seconds += self.chance.uniform(0, 90)
            self.note("stopped")
        self.wait(self.process, seconds + self.chance.uniform(0, 0.01))
        simulation.switch()
        self.maybe_die()

    def maybe_die(self) -> None:
        if self.happens(self.weather.kill):
            raise Killed

    def maybe_fail(self, likely: float) -> None:
        if self.happens(likely):
            self.note("database away")
            raise OperationalError("simulated", {}, ConnectionError("the server closed the connection"))

    def happens(self, likely: float) -> bool:
        return likely > 0 and self.chance.random() < likely

    def note(self, what: str) -> None:
        self.trace.append((self.seconds, self.process.name, what))

    # --- What processes do ----------------------------------------------------------------------------------------

    def work(self) -> None:
        """A Celery worker: a message at a time, acknowledged when it is done."""
        while True:
            while not (series_id := self.take()):
                self.pause(1)
            try:
                with self.failing_tasks():
                    tasks.play.run(series_id)
            except Killed:
                if not self.happens(self.weather.message_lost):
                    self.messages.append((self.seconds + REDELIVERY_SECONDS, series_id))
                raise

    def take(self) -> int | None:
        due = [message for message in self.messages if message[0] <= self.seconds]
        if not due:
            return None
        message = self.chance.choice(due)
        self.messages.remove(message)
        self.note(f"takes series {message[1]}")
        return message[1]

    def enqueue(self, series_id: int) -> None:
        """Instead of `workers.queue.enqueue_series`."""
        if self.happens(self.weather.message_lost):
            return
        for _ in range(2 if self.happens(self.weather.message_doubled) else 1):
            self.messages.append((self.seconds + self.chance.uniform(0, 1), series_id))

    def schedule(self) -> None:
        """Celery's beat and what it asks for; sweeps most of all, for it is they that set things right."""
        while True:
            with self.failing_tasks():
                self.chance.choice([tasks.tick, tasks.refit, *[tasks.sweep] * 8]).run()
            self.pause(12)

    def keep(self) -> None:
        """The machines' keepers, whose checks find nothing wrong."""
        while True:
            with self.failing_tasks(), self.stage.database.transaction() as session:
                for host in self.hosts:
                    if not service.host_seen(session, host):
                        service.host_arrives(session, host, "image")
                    if service.due_check(session, host) is not None:
                        service.record_check(session, host, {}, (), 0)
            self.pause(20)

    def interfere(self) -> None:
        """Somebody who finds machines unfit, and matches worth another look."""
        while True:
            self.pause(10)
            for action in (self.find_unfit, self.rule):
                if self.happens(self.weather.interfere + self.weather.unfit):
                    with self.failing_tasks(), self.stage.database.transaction() as session:
                        action(session)

    def find_unfit(self, session: Session) -> None:
        host = self.chance.choice(self.processes).host
        service.record_check(session, host, {}, ["its canary sang"], self.chance.uniform(0, 30))

    def rule(self, session: Session) -> None:
        done = session.exec(select(Match.id).where(Match.state == MatchState.DONE).order_by(col(Match.id))).all()
        if done:
            verb = self.chance.choice([service.void_match, service.rejudge_match, service.restore_match])
            with contextlib.suppress(errors.WrongState):
                verb(session, BOSS, self.chance.choice(done), "storm")

    @contextlib.contextmanager
    def failing_tasks(self) -> Iterator[None]:
        """A task that fails by what the storm does is logged, and its worker goes on."""
        try:
            yield
        except OperationalError as error:
            self.note(f"failed: {error}")

    # --- What is simulated ------------------------------------------------------------------------------------------

    def clock(self) -> datetime:
        return START + timedelta(seconds=60 + self.seconds + self.process.skew_seconds)

    def sleep(self, seconds: float) -> None:
        """Instead of `time.sleep`."""
        self.pause(seconds)

    def monotonic(self) -> float:
        """Instead of `time.monotonic`."""
        return self.seconds

    def time_ns(self) -> int:
        """Instead of `time.time_ns`."""
        return int(self.clock().timestamp()) * 1_000_000_000

    def bot(self) -> Player:
        """The house's random bot, which sometimes falls silent."""
        play = RANDOM_BOT(self.chance.getrandbits(32))
        return lambda message: None if self.happens(0.02) else play(message)

    def instead(self) -> contextlib.ExitStack:
        """The simulated world in the place of the real one."""
        stack = contextlib.ExitStack()
        replaced: list[tuple[Any, dict[str, Any]]] = [
            (
                tasks,
                {
                    "context": lambda: self.context,
                    "enqueue_series": self.enqueue,
                    "enqueue_build": lambda _: None,
                    "time": self,
                },
            ),
            (
                play,
                {
                    "Arena": lambda *_, **__: Arena(self),
                    "time": self,
                    "fetch_program": lambda *_: mock.Mock(label="bot"),
                    "play_canary_when_due": lambda *_: None,
                },
            ),
        ]
        for module, names in replaced:
            stack.enter_context(mock.patch.multiple(module, **names))
        return stack
