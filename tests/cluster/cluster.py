"""A whole deployment on machines of its own: two with an API and a scheduler, three that play, database and broker.

    db1, db2    PostgreSQL and its standby     api1, api2   API and scheduler
    queue       Redis                          w1, w2, w3   workers

Blobs are a small file system that all machines see, as a shared store would be. The machines that play use one Docker
Engine and share the processors of this one, but know nothing of each other: each has its own name, boot, slots and
FIFOs. Times are short so that lost work is found soon; everything else is as shipped.
"""

import contextlib
import itertools
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import col, func, select

from deadheat.cli.server.api_client import Client, Refused
from deadheat.league.blobs import Blobs
from deadheat.league.config import HEARTBEAT_SECONDS, Settings
from deadheat.league.database import Database, now
from deadheat.league.service.rulings.closing import ensure_organiser
from deadheat.league.states import UNFINISHED, JobState, MatchState, TableState
from deadheat.league.tables import GameTable, Match, RatingSnapshot, Series, WorkerHost
from tests.benchmarks.engine_of_our_own import PrivateEngine
from tests.cluster.network import Machine, Network
from tests.cluster.servers import ADDRESS, Primary, Redis, until
from tests.invariants import broken, convicted, given_up, unfinished

API_MACHINES = ("api1", "api2")
WORKERS = ("w1", "w2", "w3")
PORT = 8080
GAME = "yacht-auction"
BOT = (Path(__file__).resolve().parents[1] / "benchmarks" / "light.c").read_bytes()
"""A legal bot that does not think: convicting it, or abandoning its matches, is wrong."""

BLOB_BYTES = 8 * 2**30
"""What the store has room for: more than is ever played here. A match takes a page of memory, 4 KiB, at least, and the
faster the machine the more of them. Only what is used takes memory.
"""

PASSWORD = "only a test of the cluster"

QUICK: Mapping[str, str] = {
    "LEASE_SECONDS": str(3 * HEARTBEAT_SECONDS),  # the shortest that is allowed
    "REQUEUE_SECONDS": "4",
    "MATCH_ATTEMPTS": "20",  # three machines on two processors sometimes spoil matches, which is not under test
    "JUDGE_UNFIT": "true",  # nor is the fitness of such a shared machine
}


class Cluster:
    """See the top of the file. Enter it; everything of it is removed on exit.

    `engine`: a separate Docker Engine, which may be mistreated; None: the one that everybody here uses.
    `worker_queues`: what the machines that play take; "": everything.
    """

    def __init__(
        self,
        settings: Mapping[str, str] = {},
        engine: PrivateEngine | None = None,
        worker_queues: str = "",
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deadheat-cluster-"))
        self.folder.chmod(0o755)
        self.blob_folder = self.folder / "blobs"
        self._chosen = {**QUICK, **settings}
        self._worker_options = ("--queues", worker_queues) if worker_queues else ()
        self.engine = engine
        self.docker_host = "" if engine is None else engine.url
        self.poisoned: list[int] = []  # seasons with something that cannot be played
        self._exit = contextlib.ExitStack()
        self._numbers = itertools.count(1)
        self.innocent: list[int] = []  # bots that never fail
        self.outage_at = 0.0  # when the present disturbance took something away, on the clock of `time.time`
        self._secrets = [PASSWORD]

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.blob_folder.mkdir()
            _mount(self.blob_folder)
            undo.callback(_unmount, self.blob_folder)
            self.network = undo.enter_context(Network(self.folder))
            try:
                self._build()
            except BaseException:
                print(self.log())
                raise
            undo.callback(self.database.close)
            self._exit = undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exit.close()

    def _build(self) -> None:
        self.primary = Primary(self.network.machine("db1"))
        self.primary.create()
        self.primary.ask("CREATE DATABASE league")
        self.redis = Redis(self.network.machine("queue"), self._secret())
        values = {
            **self._chosen,
            "DATABASE_URL": f"postgresql://league:{self._secret()}@{ADDRESS}/league",
            "BROKER_URL": f"redis://:{self.redis.password}@{self.redis.machine.address}/0",
            "BLOB_URL": self.blob_folder.as_uri(),
            "HOST": "0.0.0.0",
            "PORT": str(PORT),
        }
        self.environment = {f"DEADHEAT_{name}": value for name, value in values.items()}
        self.settings = Settings.model_validate({name.lower(): value for name, value in values.items()})
        self.database, self.blobs = Database(self.settings), Blobs(self.settings.blobs)
        self.database.migrate()
        with self.database.transaction() as session:
            self.organiser_token = ensure_organiser(session, "organiser")
        self._secrets.append(self.organiser_token)
        for name in API_MACHINES:
            self._league_machine(name)
            self.start(name, "api")
            self.start(name, "scheduler")
        for number, name in enumerate(WORKERS):
            self._league_machine(name).environment["DEADHEAT_SLOTS"] = str(number % (os.cpu_count() or 1))
            self.start(name, "worker", *self._worker_options)
        # A machine plays nothing before it was checked, and meanwhile the others play everything.
        while not (set(WORKERS) <= self._checked() and all(self._ready(name) for name in API_MACHINES)):
            for machine in self.network.machines.values():
                ended = [part for part, process in machine.started.items() if process.poll() is not None]
                assert not ended, f"{ended} of {machine.name} ended"
            time.sleep(0.1)

    def _checked(self) -> set[str]:
        with self.database.reading() as session:
            return set(session.exec(select(WorkerHost.name).where(col(WorkerHost.checked_at).is_not(None))))

    def _league_machine(self, name: str) -> Machine:
        machine = self.network.machine(name)
        own = {"DEADHEAT_DATA_DIR": str(machine.folder), "DEADHEAT_LOCK_DIR": str(machine.folder / "locks")}
        machine.environment = {**self.environment, **own}
        if self.docker_host:
            machine.environment["DOCKER_HOST"] = self.docker_host
        return machine

    def start(self, name: str, part: str, *options: str) -> None:
        """Start a part of the league on a machine: api, scheduler, worker."""
        self.machine(name).start(part, sys.executable, "-m", "deadheat.cli.main", part, *options)

    def machine(self, name: str) -> Machine:
        return self.network.machines[name]

    def machines(self, *names: str) -> list[Machine]:
        """Return the machines with these names, or else those that play."""
        return [self.machine(name) for name in names or WORKERS]

    def api(self, token: str = "", name: str = "api1") -> Client:
        """Open a client of one of the APIs."""
        return Client(f"http://{self.machine(name).address}:{PORT}", token)

    def _ready(self, name: str) -> bool:
        try:
            with self.api(name=name) as client:
                client.call("GET", "/readyz")
        except Refused:
            return False
        return True

    # --- What people do.

    def bots(self, count: int, source: bytes = BOT) -> list[tuple[str, int]]:
        """Create authors, each with a built bot, through both APIs; return their tokens and the bots' ids."""
        made = []
        for number in range(count):
            token, bot_id = self.bot(f"api{number % 2 + 1}")
            with self.api(token) as client:
                client.upload(bot_id, "bot.c", source)
            made.append((token, bot_id))
        for token, bot_id in made:
            with self.api(token) as client:
                until(f"bot {bot_id} is built", lambda: client.version(bot_id, 1).state in ("ready", "broken"), 120)  # noqa: B023
                version = client.version(bot_id, 1)
                assert version.state == "ready", version.reason
        return made

    def bot(self, api: str = "api1") -> tuple[str, int]:
        """Create an author with a bot that has no version; return the author's token and the bot's id."""
        name = f"author{next(self._numbers)}"
        with self.api(name=api) as client:
            client.sign_up(name, PASSWORD)
            token = client.issue_token(name, PASSWORD).token
            self._secrets.append(token)
        with self.api(token) as client:
            bot_id = client.own_bot(GAME, f"bot-of-{name}").id
        self.innocent.append(bot_id)
        return token, bot_id

    def season(self, bots: list[tuple[str, int]], games_per_pair: int | None = None, series_length: int = 5) -> int:
        """Open a season of these bots; without `games_per_pair` it continues until it is closed."""
        with self.api(self.organiser_token, "api2") as client:
            body = {"game": GAME, "name": f"season {next(self._numbers)}", "series_length": series_length}
            season_id = client.create_season({**body, "games_per_pair": games_per_pair}).id
            client.change_season(season_id, {"state": "open"})
        for token, bot_id in bots:
            with self.api(token) as client:
                client.enter(season_id, bot_id)
        return season_id

    def close(self, season_id: int) -> None:
        """Close a season, and wait until what runs is played and the standings are published."""
        with self.api(self.organiser_token) as client:
            try:
                client.change_season(season_id, {"state": "closed"})
            except Refused as error:
                if error.code != "unsettled":
                    raise
                client.change_season(season_id, {"state": "closed", "force": True})
        until("the season's standings are published", lambda: self._published(season_id), 120)

    def until(self, what: str, true: Callable[[], object], seconds: float) -> None:
        """Wait for a condition. A failure reports what is unfinished, all warnings and the ends of all logs."""
        try:
            until(what, true, seconds)
        except AssertionError as error:
            with self.database.reading() as session:
                found = [*unfinished(session), *given_up(session)]
            raise AssertionError("\n".join([str(error), *found, *self.warned(), self.log()])) from None

    # --- Its state.

    def unfinished(self, season_id: int) -> int:
        """Count the series that wait or run."""
        with self.database.reading() as session:
            open_ones = (Series.season_id == season_id, col(Series.state).in_(UNFINISHED))
            return session.exec(select(func.count()).select_from(Series).where(*open_ones)).one()

    def finished_by(self, since: datetime) -> dict[str, int]:
        """Count the finished series that were begun since then, by machine."""
        with self.database.reading() as session:
            found = select(Series.worker).where(Series.state == JobState.DONE, col(Series.started_at) >= since)
            names = [str(worker).split(":")[0] for worker in session.exec(found)]
        return {name: names.count(name) for name in WORKERS}

    def series(self, season_id: int) -> list[tuple[str, float, float]]:
        """List the season's finished series: machine, begin of the last attempt and end, both in seconds since 1970."""
        with self.database.reading() as session:
            done = (Series.season_id == season_id, Series.state == JobState.DONE)
            found = session.exec(select(Series.worker, Series.started_at, Series.finished_at).where(*done)).all()
        return [
            (str(name).split(":")[0], began.timestamp(), ended.timestamp())
            for name, began, ended in found
            if began and ended
        ]

    def results(self, season_id: int) -> set[tuple[int | None, str | None]]:
        """Return the season's matches that have a result, each with its transcript's name."""
        with self.database.reading() as session:
            done = (Match.season_id == season_id, Match.state == MatchState.DONE)
            return {*session.exec(select(Match.id, Match.transcript_sha256).where(*done)).all()}

    def tables(self) -> list[str]:
        """List the machines at which a person plays now."""
        with self.database.reading() as session:
            found = session.exec(select(GameTable.worker).where(GameTable.state == TableState.RUNNING))
            return [str(worker).split(":")[0] for worker in found]

    def played(self, season_id: int) -> int:
        with self.database.reading() as session:
            done = (Match.season_id == season_id, Match.state == MatchState.DONE)
            return session.exec(select(func.count()).select_from(Match).where(*done)).one()

    def held(self, season_id: int) -> int:
        with self.database.reading() as session:
            lost = (Match.season_id == season_id, Match.state == MatchState.HELD)
            return session.exec(select(func.count()).select_from(Match).where(*lost)).one()

    def now(self) -> datetime:
        with self.database.reading() as session:
            return now(session)

    def answers(self) -> bool:
        try:
            self.database.check()
        except SQLAlchemyError:
            return False
        return True

    def _published(self, season_id: int) -> bool:
        with self.database.reading() as session:
            final = (RatingSnapshot.season_id == season_id, col(RatingSnapshot.final).is_(True))
            return session.exec(select(RatingSnapshot.id).where(*final)).first() is not None

    @contextlib.contextmanager
    def store_full(self) -> Iterator[None]:
        """Meanwhile not one more byte fits into the store."""

        def resize(size_bytes: int) -> None:
            subprocess.run(["mount", "-o", f"remount,size={size_bytes}", self.blob_folder], check=True)

        filler = self.blob_folder / "filler"
        usage = shutil.disk_usage(self.blob_folder)
        resize(usage.used + 2**20)  # what is written meanwhile still fits
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
        filler.unlink()
        resize(BLOB_BYTES)

    def broken(self) -> list[str]:
        """Return every invariant that does not hold now, every innocent bot convicted and every secret revealed."""
        with self.database.reading() as session:
            return broken(session, self.blobs) + convicted(session, self.innocent) + list(self._told())

    def _secret(self) -> str:
        self._secrets.append(secrets.token_hex(16))
        return self._secrets[-1]

    def _told(self) -> Iterator[str]:
        """Yield places in logs that reveal a password or a token."""
        for name, lines in self._logs():
            for number, line in enumerate(lines, 1):
                if any(secret in line for secret in self._secrets):
                    yield f"line {number} of {name} tells a secret: {line}"

    def log(self, lines: int = 15) -> str:
        """Return the last lines of every log, for a failure's report."""
        return "\n".join("\n".join([f"--- {name}", *found[-lines:]]) for name, found in self._logs())

    def warned(self) -> list[str]:
        """Return all warnings of the league, except that a busy host is unfit for a minute, which is not its fault."""
        logged = ((name, line) for name, lines in self._logs() for line in lines)
        alarm = re.compile(r",\d{3} (WARNING|ERROR|CRITICAL) (?!.* NOT FIT to judge)")
        return [f"{name}: {line}" for name, line in logged if alarm.search(line)]

    def _logs(self) -> Iterator[tuple[str, list[str]]]:
        for machine in self.network.machines.values():
            for path in sorted(machine.folder.glob("*.log")):
                yield f"{machine.name} {path.stem}", path.read_text(errors="replace").splitlines()


def _mount(folder: Path) -> None:
    options = f"size={BLOB_BYTES},mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "deadheat-test", folder], check=True)


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", folder], check=True)
