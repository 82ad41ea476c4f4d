"""The play path in simulated time: workers, schedulers and keepers that are killed, stopped and cut off, by one seed.

Theory of operation
-------------------
The code is the product's own: `workers.tasks`, what they call, `league.service`, and a real (SQLite) database. What is
around it is simulated: time, the queue, machines and people. Each process is a greenlet. It runs until it would wait or
reaches a point where it may be harmed; then the simulator continues the process whose time has come, so minutes of a
league take some milliseconds, and a seed decides everything.

What may happen at such a point, which is wherever the process begins or ends a transaction, writes a blob or waits: it
is killed (in mid-transaction too, which undoes it), stopped past its lease, finds the database away, or loses the
answer to a commit that took place. Messages are lost, doubled and late, clocks are wrong, blobs cannot be written,
matches and builds fail through the service, workers are told to end, machines are found unfit, and an organiser
interferes. Meanwhile authors upload and a guest plays against a bot. After a while the storm is over; then everything
must be in order again within a stated time.

`storm` says how bad it is and how much there is to harm, `stage` is the league, `machines` and `people` are simulated;
this module has time, the queue, and the choice of who runs.
"""

import contextlib
import heapq
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

from greenlet import getcurrent, greenlet
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col, exists, or_, select

from deadheat.league.blobs import Blobs
from deadheat.league.causes import Cause
from deadheat.league.config import REFIT_SECONDS
from deadheat.league.jobs import Host
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.rankings.standings import seasons_to_refit
from deadheat.league.service.series import carrying_out, hosts
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.states import TableState, VersionState
from deadheat.league.tables import Attempt, BotVersion, GameTable, WorkerHost
from deadheat.workers import build, holding, play, stopping, tables, tasks
from deadheat.workers.broker.queue import task_name
from tests.invariants import broken, every, unfinished
from tests.league.clock import START
from tests.simulation import people
from tests.simulation.machines import REASONS, Arena, Builder, SimulatedContext, Source
from tests.simulation.stage import HOSTS, Stage, StormyBlobs
from tests.simulation.storm import CALM, Extent, Killed, Weather

CALM_SECONDS = 300
"""Within this time after the storm all work must be done: leases run out, messages are sent again, retries pause, and
everything is played and built.
"""
LOOK_SECONDS = 8

REDELIVERY_SECONDS = 60
"""After this time the broker hands a dead worker's message to another, unless it is lost."""

EXPLAINED = (
    *("played", "host-unknown", "host-memory", "watch-ended", "host-unfit"),
    *("lease-expired", "worker-stopped", "blobs-away", "database-away"),
)
"""What a storm may cause."""

ANYTHING_OPEN = select(or_(*(exists().where(col(life.table.state).in_((life.waiting, life.held))) for life in KINDS)))
"""Whether anything waits or is under way; asked every few seconds, so it is one statement and made once."""

SHARING = [life for life in KINDS if life.takes_slot]

DOUBTED = select(WorkerHost.name).where(col(WorkerHost.check_due_at).is_not(None))


@dataclass
class Process:
    """One process of the cluster: what it runs, and how wrong its clock is. `busy`: it is in the middle of a task."""

    name: str
    host: Host
    main: Callable[[], None]
    skew_seconds: float = 0.0
    running: greenlet | None = None
    busy: bool = False


class Simulator:
    """One seed's storm and what comes after it."""

    def __init__(self, stage: Stage, seed: int, weather: Weather | None = None, extent: Extent | None = None) -> None:
        self.stage, self.chance = stage, random.Random(seed)
        self.weather = weather or Weather.of(self.chance)
        self.extent = extent or Extent.of(self.chance)
        self.league = stage.reset(self.extent.games)
        self.seconds = 0.0
        lease_seconds = stage.settings.lease_seconds
        self.stops = (lease_seconds / 4, lease_seconds, lease_seconds)  # for a moment, or until another worker is asked
        self.uploads = self.sittings = 0
        self.messages = [(0.0, carrying_out.SERIES, series_id) for series_id in self.league.series_ids]
        self.trace: list[tuple[float, str, str]] = []
        self.blobs = StormyBlobs(self)
        for content in self.league.programs:
            Blobs.put(self.blobs, content)
        self.context = SimulatedContext(self)
        self.waiting: list[tuple[float, int, Process]] = []
        self._order = itertools.count()
        self.hosts = HOSTS[: self.extent.machines]
        self.processes = list(self._cluster())
        self.process = self.processes[0]

    def _cluster(self) -> Iterator[Process]:
        first = self.hosts[0]
        for host in self.hosts:
            skew_seconds = self.chance.choice([0, 0, -40, 40])
            yield Process(f"{host.name}:1", host, partial(self.work, SHARING), skew_seconds)
        for number in range(self.extent.schedulers):
            yield Process(f"scheduler{number}", first, self.schedule)
        yield Process("keepers", first, self.keep)
        yield Process("organiser", first, partial(people.organiser, self))
        if self.extent.uploads:
            yield Process("author", first, partial(people.author, self))
        if self.extent.sittings:
            yield Process(f"{first.name}:2", first, partial(self.work, (TABLES,)))
            yield Process("guest", first, partial(people.guest, self))
            yield Process("site", first, partial(people.site, self))

    # --- What happens to processes ------------------------------------------------------------------------------

    def run(self) -> list[str]:
        """Run the storm, and return everything that is wrong in the end."""
        self.stage.simulator = self
        with self.instead():
            try:
                for process in self.processes:
                    self.start(process)
                self.run_until(self.extent.storm_seconds)
                self.weather = CALM
                for process in self.processes:
                    process.skew_seconds = 0
                self.run_until_done()
            finally:
                for process in self.processes:
                    if process.running:
                        process.running.throw(Killed)
        with self.stage.database.reading() as session:
            return [
                *broken(session, self.blobs),
                *(unfinished(session) if session.exec(ANYTHING_OPEN).one() else []),
                *self.unranked(session),
                *self.unexplained(session),
                *self.misbuilt(session),
            ]

    def start(self, process: Process) -> None:
        process.running, process.busy = greenlet(process.main), False
        self.wait(process, self.chance.random())

    def run_until(self, seconds: float) -> None:
        """Let each process continue when its time has come, and restart those that were killed."""
        while self.waiting[0][0] <= seconds:
            self.seconds, _, self.process = heapq.heappop(self.waiting)
            assert self.process.running is not None
            left = self.process.running.switch()
            if isinstance(left, Killed):
                self.note("died")
                self.start(self.process)
        self.seconds = seconds

    def run_until_done(self) -> None:
        """Continue after the storm until nothing is left to do and all processes are back, or the time is over."""
        while self.seconds < self.extent.storm_seconds + CALM_SECONDS:
            self.run_until(self.seconds + LOOK_SECONDS)
            if self.at_rest():
                if self.extent.uploads:  # otherwise everything was planned at the start
                    tasks.tick.run()
                if self.at_rest():
                    break
        if self.extent.ranked:
            self.seconds += REFIT_SECONDS
            tasks.refit.run()

    def at_rest(self) -> bool:
        if any(process.busy for process in self.processes):
            return False
        with self.stage.database.reading() as session:
            return not session.exec(ANYTHING_OPEN).one()

    def wait(self, process: Process, seconds: float) -> None:
        heapq.heappush(self.waiting, (self.seconds + seconds, next(self._order), process))

    def idle(self, seconds: float) -> None:
        """Let the present process be idle for that time, when no harm to it would matter."""
        simulation = getcurrent().parent
        if simulation is None:  # nobody waits: the simulation itself looks for remaining work
            return
        self.wait(self.process, seconds + self.chance.uniform(0, 0.01))
        simulation.switch()

    def pause(self, seconds: float = 0.0) -> None:
        """Let the present process wait; it may be stopped for long or killed meanwhile."""
        if self.happens(self.weather.stop):
            seconds += self.chance.choice(self.stops) * self.chance.uniform(1, 2)
            self.note("stopped")
        self.idle(seconds)
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

    def work(self, kinds: Sequence[Life]) -> None:
        """Work as a Celery worker: a message at a time, acknowledged at its end."""
        while True:
            while not (message := self.take(kinds)):
                self.idle(1)
            life, row_id = message
            try:
                with self.task():
                    tasks.app.tasks[task_name(life)].run(row_id)
            except Killed:
                if not self.happens(self.weather.message_lost):
                    self.messages.append((self.seconds + REDELIVERY_SECONDS, life, row_id))
                raise

    def take(self, kinds: Sequence[Life]) -> tuple[Life, int] | None:
        due = [message for message in self.messages if message[0] <= self.seconds and message[1] in kinds]
        if not due:
            return None
        message = self.chance.choice(due)
        self.messages.remove(message)
        _, life, row_id = message
        self.note(f"is to {life.queue} {row_id}")
        return life, row_id

    def enqueue(self, life: Life, row_id: int) -> None:
        if self.happens(self.weather.message_lost):
            return
        for _ in range(2 if self.happens(self.weather.message_doubled) else 1):
            self.messages.append((self.seconds + self.chance.uniform(0, 1), life, row_id))

    def schedule(self) -> None:
        """Do what schedulers ask for, mostly sweeps, because these repair the damage."""
        choice = [tasks.tick, *[tasks.sweep] * 10, *[tasks.refit] * self.extent.ranked]
        while True:
            with self.task():
                self.chance.choice(choice).run()
            self.pause(12)

    def keep(self) -> None:
        """Work as the machines' keepers, whose checks find nothing wrong."""
        while True:
            with self.task(), self.stage.database.transaction() as session:
                for host in self.hosts:
                    hosts.host_seen(session, host)
                doubted = set(session.exec(DOUBTED))
                for host in self.hosts:
                    if host.name in doubted and hosts.due_check(session, host) is not None:
                        hosts.record_check(session, host, {}, (), 0)
            self.pause(25)

    @contextlib.contextmanager
    def task(self) -> Iterator[None]:
        """Carry out a task. If the storm makes it fail, note this; its process continues."""
        process = self.process
        process.busy = True
        try:
            yield
        except OperationalError as error:
            self.note(f"failed: {error}")
        finally:
            process.busy = False

    # --- What must be true in the end, beside `tests.invariants` --------------------------------------------------

    def unranked(self, session: Session) -> list[str]:
        """Check that the ranking has caught up."""
        due = seasons_to_refit(session) if self.extent.ranked else []
        return [f"a refit of season {season_id} is due" for season_id in due]

    def unexplained(self, session: Session) -> Iterator[str]:
        """Yield failures that no storm explains: bugs of the product or of this simulation."""
        for line in every(session, Attempt):
            if line.cause not in EXPLAINED:
                yield f"an attempt failed by {line.cause}: {line.detail}"
        for row in every(session, GameTable):
            if row.state is TableState.ABANDONED and row.cause not in (*EXPLAINED, Cause.LEFT):
                yield f"exhibition {row.id} was abandoned: {row.cause}"

    def misbuilt(self, session: Session) -> Iterator[str]:
        """Yield uploads that did not become what their text says."""
        for version in every(session, BotVersion):
            if version.filename != people.FILENAME:
                continue
            text = self.blobs.get(version.source_sha256, 1000).decode()
            source = next(source for source in Source if text.endswith(source))
            state, why = (VersionState.READY, "") if source is Source.GOOD else (VersionState.BROKEN, REASONS[source])
            if version.state is not state or not version.reason.startswith(why):
                yield f"version {version.id}, which {source}, is {version.state}: {version.reason}"

    # --- What is simulated ------------------------------------------------------------------------------------------

    def clock(self) -> datetime:
        return START + timedelta(seconds=60 + self.seconds + self.process.skew_seconds)

    def sleep(self, seconds: float) -> None:
        self.pause(seconds)

    def monotonic(self) -> float:
        return self.seconds

    def time_ns(self) -> int:
        return int(self.clock().timestamp()) * 1_000_000_000

    def look(self) -> None:
        if self.happens(self.weather.told_to_end):
            raise stopping.Stopping

    def instead(self) -> contextlib.ExitStack:
        """Replace the real world by the simulated one during a block."""
        fetch_program = self.context.fetch_program
        arena: Any = lambda _sandbox, programs, *_, **__: Arena(self, programs)  # noqa: E731
        dice = SimpleNamespace(urandom=self.stage.entropy)
        replaced: list[tuple[Any, dict[str, Any]]] = [
            (
                tasks,
                {
                    "context": lambda: self.context,
                    "enqueue": self.enqueue,
                    "enqueue_plan": lambda _: None,  # lost, which is allowed: the next tick plans anyway
                    "enqueue_refit": lambda: None,  # as above
                    "time": self,
                },
            ),
            (
                play,
                {"Arena": arena, "time": self, "fetch_program": fetch_program, "play_canary_when_due": lambda *_: None},
            ),
            (holding, {"time": self}),
            (build, {"Arena": arena, "build": Builder(self), "os": dice, "time": self}),
            (tables, {"Arena": arena, "time": self, "fetch_program": fetch_program, "LOOK_SECONDS": 3.0}),
            (stopping, {"look": self.look}),
        ]
        stack = contextlib.ExitStack()
        for module, names in replaced:
            stack.enter_context(mock.patch.multiple(module, **names))
        return stack
