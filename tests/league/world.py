"""A small league to test with: a clock that is turned by hand, bots that are ready, and results at will."""

from __future__ import annotations

import atexit
import itertools
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from hashlib import sha256 as sha256_of
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlmodel import Session

from engine.core import Fault, Result
from league.config import Settings
from league.database import Database
from league.jobs import (
    AttemptRecord,
    BuildJob,
    BuildOutcome,
    FaultRecord,
    Host,
    Latency,
    MatchJob,
    MatchOutcome,
    SeriesJob,
)
from league.service.bots.bots import Upload, add_version, create_bot
from league.service.course.schedule import go_on, seasons_going_on
from league.service.course.states import set_season_state
from league.service.jobs.builds import claim_build, finish_build
from league.service.people.person import Person
from league.service.people.users import sign_up
from league.service.rankings.publishing import publish, seasons_to_publish
from league.service.rankings.standings import refit, seasons_to_refit
from league.service.rulings.held import leave_match
from league.service.rulings.operators import ensure_organiser
from league.service.seasons.entries import enter
from league.service.seasons.seasons import create_season
from league.service.series.carrying_out import claim_series, finish_series
from league.service.series.hosts import host_arrives, host_seen, record_check
from league.states import Role, SeasonState
from sandbox.box import Exit

GAME = "yacht-auction"
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHA = "a" * 64
HOST = Host("machine", "boot")

P = ParamSpec("P")
R = TypeVar("R")


class Clock:
    """Stands still until it is turned; who listens is then called."""

    def __init__(self) -> None:
        self.now = START
        self.listeners: list[Callable[[], None]] = []

    def __call__(self) -> datetime:
        return self.now

    def turn(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for listener in self.listeners:
            listener()


def tick(session: Session) -> list[int]:
    """What the task of that name does, in one transaction: let every season go on; the new series."""
    return [series_id for season_id in seasons_going_on(session) for series_id in go_on(session, season_id)]


@dataclass
class World:
    """A league on a migrated database. `entropy`: where seeds come from, the same ones each time, that no test may pass
    or fail by chance; tests of what chance decides take another.
    """

    settings: Settings
    clock: Clock = field(default_factory=Clock)
    host: Host = HOST
    entropy: Callable[[int], bytes] = field(default_factory=lambda: random.Random(0).randbytes)

    def __post_init__(self) -> None:
        self._connected: list[Database] = []
        if not self.settings.database_url:
            self.settings.data_dir.mkdir(parents=True, exist_ok=True)
            shutil.copy(migrated_file(), self.settings.data_dir)
        self.db = self.connect()
        with self.db.transaction() as session:
            ensure_organiser(session, "boss")
        self.boss = Person(1, "boss", Role.ORGANISER)
        self._numbers, self._uploads = itertools.count(1), itertools.count(1)
        with self.db.transaction() as session:
            host_arrives(session, self.host, "image")
            record_check(session, self.host, {}, (), 0)
        self.clock.listeners.append(self.beat)

    def beat(self) -> None:
        """The keeper of the one machine that plays, which is fit and always there."""
        with self.db.transaction() as session:
            host_seen(session, self.host)

    def connect(self) -> Database:
        """Another connection to the same database, as another process would have."""
        self._connected.append(Database(self.settings, self.clock, self._random))
        return self._connected[-1]

    def _random(self, count: int) -> bytes:
        return self.entropy(count)  # which may have been chosen since

    def close(self) -> None:
        """Close every connection."""
        for database in self._connected:
            database.close()

    def write(self, act: Callable[Concatenate[Session, P], R], *arguments: P.args, **named: P.kwargs) -> R:
        """What a use case returns, in a transaction of its own."""
        with self.db.transaction() as session:
            return act(session, *arguments, **named)

    def read(self, look: Callable[Concatenate[Session, P], R], *arguments: P.args, **named: P.kwargs) -> R:
        """What a question returns, at one instant."""
        with self.db.reading() as session:
            return look(session, *arguments, **named)

    def row(self, table: type[R], number: int) -> R:
        """A row as it is now."""
        with self.db.reading() as session:
            return session.get_one(table, number)

    def author(self, name: str = "") -> Person:
        with self.db.transaction() as session:
            return sign_up(session, name or f"author{next(self._numbers)}", "a long enough password")

    def upload(self, owner: Person, bot_id: int, content: str = "") -> int:
        """A version that waits to be built: of that content, or ("") of content that nobody has sent yet."""
        sha256 = sha256_of((content or f"upload {next(self._uploads)}").encode()).hexdigest()
        with self.db.transaction() as session:
            return add_version(session, owner, bot_id, Upload("bot.py", 10, sha256, "python", "main.py")).id

    def building(self, version_id: int, worker: str = "builder") -> BuildJob:
        """The build of a version, taken by a worker."""
        job = self.write(claim_build, version_id, worker)
        assert job is not None
        return job

    def build(self, version_id: int, reason: str = "", program: str = "") -> None:
        """`program`: what it becomes; no two builds are equal to the last byte unless they are said to be."""
        sha256 = sha256_of((program or f"built {version_id}").encode()).hexdigest()
        outcome = BuildOutcome(None, reason, "log") if reason else BuildOutcome(sha256, "", "log")
        assert self.write(finish_build, self.building(version_id), outcome)

    def bot(self, name: str = "", game: str = GAME, owner: Person | None = None) -> tuple[Person, int]:
        """A bot with one version that is ready."""
        owner = owner or self.author()
        with self.db.transaction() as session:
            bot_id = create_bot(session, owner, game, name or f"bot{next(self._numbers)}").id
        self.build(self.upload(owner, bot_id))
        return owner, bot_id

    def playing_bot(self, name: str = "", game: str = GAME, owner: Person | None = None) -> tuple[Person, int]:
        """One that is alone in a season, so people may play against it."""
        owner, bot_id = self.bot(name, game, owner)
        season_id = self.season(0, game=game)
        with self.db.transaction() as session:
            enter(session, owner, season_id, bot_id)
        return owner, bot_id

    def season(
        self,
        bots: int = 2,
        *,
        game: str = GAME,
        divisions: Sequence[tuple[str, int | None]] = (),
        **chosen: Any,
    ) -> int:
        """An open season with that many bots; series of two, four games of each pair, unless told otherwise."""
        chosen.setdefault("series_length", 2)
        chosen.setdefault("games_per_pair", 4)
        with self.db.transaction() as session:
            season_id = create_season(
                session, self.boss, game=game, name=f"season {next(self._numbers)}", divisions=divisions, **chosen
            ).id
            set_season_state(session, self.boss, season_id, SeasonState.OPEN)
        for _ in range(bots):
            owner, bot_id = self.bot(game=game)
            with self.db.transaction() as session:
                enter(session, owner, season_id, bot_id)
        return season_id

    def ranked(self, bots: int, **chosen: Any) -> int:
        """As `season`, played to its end and ranked."""
        season_id = self.season(bots, **chosen)
        self.play_all()
        assert self.write(refit, season_id)
        return season_id

    def tick(self) -> list[int]:
        with self.db.transaction() as session:
            return tick(session)

    def claim(self, series_id: int, worker: str = "w1", db: Database | None = None) -> SeriesJob | None:
        with (db or self.db).transaction() as session:
            return claim_series(session, series_id, worker, self.host)

    def claimed(self, series_id: int | None = None, worker: str = "w1", db: Database | None = None) -> SeriesJob:
        """That series, or the only one that is planned now, taken by a worker."""
        if series_id is None:
            (series_id,) = self.tick()
        job = self.claim(series_id, worker, db)
        assert job is not None
        return job

    def finish(
        self,
        job: SeriesJob,
        outcomes: Sequence[MatchOutcome] | None = None,
        worker: str = "w1",
        db: Database | None = None,
    ) -> bool:
        """Hand in outcomes, or first seats' wins; an organiser leaves unplayed what is `abandoned`."""
        outcomes = outcomes or [won(match) for match in job.matches]
        with (db or self.db).transaction() as session:
            taken = finish_series(session, job, worker, outcomes)
            for outcome in outcomes:
                if taken and outcome == abandoned(MatchJob(outcome.match_id, b"", ())):
                    leave_match(session, self.boss, outcome.match_id, "we failed")
        return taken

    def at_once(self, first: Callable[[Session], object], second: Callable[[Session], object]) -> None:
        """The second begins before the first is committed, and may wait for its locks; raises what the second raises.

        On a machine so slow that the second does not get as far meanwhile, a fault may pass unseen; none is made.
        """

        def act() -> None:
            with self.db.transaction() as session:
                second(session)

        with ThreadPoolExecutor(1) as pool:
            with self.db.transaction() as session:
                first(session)
                running = pool.submit(act)
                wait([running], timeout=0.5)
            running.result()

    def settle(self) -> None:
        """What scheduler, workers and rankings do at their next turns."""
        self.play_all()
        self.clock.turn(self.settings.refit_seconds)
        for season_id in self.write(seasons_to_refit):
            self.write(refit, season_id)
        for season_id in self.write(seasons_to_publish):
            self.write(publish, season_id)

    def play_all(self) -> int:
        """Play until nothing is planned any more, the first seat winning; the number of matches."""
        played = 0
        while series_ids := self.tick():
            for series_id in series_ids:
                job = self.claimed(series_id)
                assert self.finish(job)
                played += len(job.matches)
        return played


@cache
def migrated_file() -> Path:
    """An SQLite database with the schema and nothing else, made once, for migrating takes longer than most tests."""
    folder = Path(tempfile.mkdtemp(prefix="deadheat-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    database = Database(settings(folder))
    database.migrate()
    database.close()  # the last connection takes the write-ahead log back into the file
    return folder / "deadheat.sqlite3"


def settings(folder: Path, **values: object) -> Settings:
    """Settings for a league in a folder."""
    return Settings.model_validate({"data_dir": folder, **values})


def attempt(cause: str = "played", **evidence: object) -> AttemptRecord:
    return AttemptRecord(1_767_268_800_000_000_000, 1_767_268_801_000_000_000, cause, "", evidence)


def won(match: MatchJob, winner: int = 0) -> MatchOutcome:
    """A plain win of the bot in that seat."""
    ranks = tuple(1 if seat == winner else 2 for seat in range(len(match.seats)))
    points = tuple(Fraction(1000 * (3 - rank)) for rank in ranks)
    return MatchOutcome(
        match_id=match.match_id,
        result=Result(ranks, points),
        transcript_sha256="c" * 64,
        latencies=tuple(Latency(seat, "ROLL", 500_000_000, 12, 60_000_000, 9_000_000) for seat in range(len(ranks))),
        exits={seat: Exit(0, None, False, f"stderr of seat {seat}".encode(), 5, 6) for seat in range(len(ranks))},
        attempts=(attempt(),),
        rules_version=1,
    )


def forfeited(match: MatchJob, *seats: int) -> MatchOutcome:
    """Those seats were too slow."""
    ranks = tuple(2 if seat in seats and len(seats) == 1 else 1 for seat in range(len(match.seats)))
    faults = tuple(FaultRecord(seat, Fault.TIMEOUT, "ROLL", 500.1, "no line within 500 ms") for seat in seats)
    return MatchOutcome(
        match_id=match.match_id,
        result=Result(ranks, None, dict.fromkeys(seats, Fault.TIMEOUT)),
        transcript_sha256="d" * 64,
        faults=faults,
        attempts=(attempt("referee-late", late_ns=7), attempt()),
        rules_version=1,
    )


def void(match: MatchJob, cause: str = "host-memory", **evidence: object) -> MatchOutcome:
    """The attempt came to nothing."""
    return MatchOutcome(match.match_id, None, None, attempts=(attempt(cause, **evidence),))


def abandoned(match: MatchJob) -> MatchOutcome:
    """We fail at it so often that it is held, and an organiser leaves it unplayed (see `World.finish`)."""
    attempts = (attempt("host-unknown", stolen_ms=1.5, seat=0),) * 3
    return MatchOutcome(match.match_id, None, None, attempts=attempts)
