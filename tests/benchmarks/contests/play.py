"""A contest played in simulated time: a scheduler that ticks, slots that play, and results by strength.

Each event has its instant: the scheduler's next look, or the end of a series. Between two events nothing happens, so a
day takes as long as its statements. A series that ends is finished, its end asks for more if few are left, and every
free slot claims what is next, as `workers.play` and `workers.tasks` do. Where no evaluation is played and no series
runs, the clock turns to the next look before a time of the timetable.
"""

import heapq
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TypeVar

from sqlmodel import Session, SQLModel, col, func, select

from deadheat.engine.core import Result
from deadheat.league.jobs import MatchJob, MatchOutcome, SeriesJob
from deadheat.league.service.course import schedule
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.series import carrying_out, hosts, turns
from deadheat.league.states import ContestState, VersionState
from deadheat.league.tables import Bot, BotVersion, Entry, Meeting, User
from deadheat.league.tables import Contest as Evaluation
from deadheat.league.timetable import DeclaredEvaluation
from deadheat.workers.broker.queue import TICK_SECONDS
from tests.benchmarks.contests.ledger import Ledger
from tests.league.clock import START
from tests.league.outcomes import forfeited, won
from tests.league.people import GAME, SHA
from tests.league.world import World

FAULTS, DRAWS = 0.01, 0.05
"""Shares of matches that end with a fault, or with equal ranks."""

TICK = timedelta(seconds=TICK_SECONDS)

Row = TypeVar("Row", bound=SQLModel)


@dataclass
class Lateness:
    """How long after its last series a round was followed by the next, and how late evaluations began.

    `held_up`: evaluations that waited for the one before.
    """

    rounds: list[timedelta] = field(default_factory=list)
    evaluations: list[timedelta] = field(default_factory=list)
    held_up: list[timedelta] = field(default_factory=list)
    unplayed: int = 0

    @property
    def faults(self) -> list[str]:
        """Return the lateness that the league itself caused."""
        late = [f"a round was drawn {one} after the last one's end" for one in self.rounds if one > TICK]
        return late + [f"an evaluation began {one} after it could" for one in self.evaluations if one > TICK]

    @property
    def sentence(self) -> str:
        rounds = max(self.rounds, default=timedelta()).total_seconds()
        began = max(self.evaluations, default=timedelta()).total_seconds()
        held = max(self.held_up, default=timedelta()).total_seconds()
        return (
            f"{len(self.rounds)} rounds followed the last one within {rounds:g} s; {len(self.evaluations)} evaluations"
            f" began within {began:g} s of when they could. {len(self.held_up)} waited for the one before, up to"
            f" {held:g} s; {self.unplayed} times of the timetable passed without one."
        )


class Contest:
    """A season with teams, and one line of a timetable."""

    def __init__(
        self, world: World, ledger: Ledger, teams: int, line: DeclaredEvaluation, slots: int, match_seconds: float
    ) -> None:
        self.world, self.ledger, self.line, self.match_seconds = world, ledger, line, match_seconds
        self.series = self.matches = 0
        self._chance, self._numbers = random.Random(17), itertools.count()
        self._free = slots
        self._playing: list[tuple[datetime, int, SeriesJob]] = []
        self._waiting: list[int] = []  # messages about series
        self.late = Lateness()
        self._day_ends: Callable[[Lateness], None]
        self._running = False  # an evaluation
        self._ended_at = world.clock.now  # when the latest series ended
        world.write(hosts.record_check, world.host, {"slots": slots}, (), 0)
        self.season_id = world.season(0, ladder_during_evaluations=False, games_per_pair=2)
        self._strength = self._teams(teams)
        world.write(set_timetable, world.boss, self.season_id, [line])

    def _teams(self, count: int) -> dict[int, float]:
        """Create teams, each with an entered bot that is ready; return each version's strength in logits."""
        made = {}
        with self.world.db.transaction() as session:
            at = self.world.clock.now
            for number in range(count):
                name = f"team-{number:04}"
                user = _added(session, User(name=name, name_key=name, created_at=at))
                bot = _added(
                    session,
                    Bot(owner_id=user.id, game=GAME, name=f"bot-{number}", name_key=f"bot-{number}", created_at=at),
                )
                version = _added(
                    session,
                    BotVersion(
                        bot_id=bot.id,
                        number=1,
                        filename="bot.py",
                        size_bytes=10,
                        source_sha256=SHA,
                        language="python",
                        entry="main.py",
                        created_at=at + timedelta(milliseconds=self._chance.randrange(10**6)),
                        state=VersionState.READY,
                        program_sha256=SHA,
                        built_at=at,
                        queued_at=at,
                        nudge_at=at,
                        attempt=1,
                    ),
                )
                session.add(Entry(season_id=self.season_id, bot_id=bot.id, version_id=version.id, created_at=at))
                made[version.id] = self._chance.gauss(0, 1)
        return made

    # The course of time -----------------------------------------------------------------------------------------

    def play(self, day_ends: Callable[[Lateness], None] = lambda _: None) -> Lateness:
        """Play until the timetable is over and everything has been played; return what was late. `day_ends` is called
        with what was late so far when a day's last evaluation is over.
        """
        self._day_ends = day_ends
        clock = self.world.clock
        look_at = clock.now
        while True:
            if self._playing and self._playing[0][0] <= look_at:
                at, _, job = heapq.heappop(self._playing)
                self._turn_to(at)
                self._end(job)
            else:
                self._turn_to(look_at)
                self.world.beat()
                self._plan()
                look_at = self._next_look(look_at)
                if look_at > clock.now + TICK and self.line.next_due(clock.now) is None:
                    return self.late
            self._claim()

    def _next_look(self, at: datetime) -> datetime:
        """Return the next tick, or while nothing is played, the last one before something is due."""
        with self.world.db.reading() as session:
            running = select(Evaluation.id).where(Evaluation.state == ContestState.RUNNING)
            if self._playing or session.exec(running).first() is not None:
                return at + TICK
        due = self.line.next_due(self.world.clock.now)
        if due is None:
            return at + 2 * TICK
        return at + TICK * max(1, (due - at) // TICK)

    def _is_last_of_day(self) -> bool:
        due = self.line.next_due(self.world.clock.now)
        return due is None or due.date() > self.world.clock.now.date()

    def _turn_to(self, at: datetime) -> None:
        self.world.clock.now = at

    def _plan(self) -> None:
        """Do what the tasks `tick` and `plan` do."""
        before = self.world.read(_state)
        with self.ledger.step() as step:
            made = self.world.write(schedule.go_on, self.season_id)
            after = self.world.read(_state)
            step.name = self._name(before, after, made)
        self._note(before, after)
        ran, self._running = self._running, after.evaluations > after.done
        self._waiting += made
        if ran and not self._running and self._is_last_of_day():
            self._day_ends(self.late)

    def _name(self, before: "State", after: "State", made: Sequence[int]) -> str:
        if after.evaluations > before.evaluations:
            return "begin, draw and plan"
        if after.rounds > before.rounds:
            return "settle, draw and plan"
        if after.done > before.done:
            return "settle and finish"
        return "settle and plan" if made else "nothing to plan"

    def _note(self, before: "State", after: "State") -> None:
        now = self.world.clock.now
        if after.evaluations > before.evaluations:
            could = max(after.due_at, self._ended_at) if after.evaluations > 1 else after.due_at
            self.late.evaluations.append(now - could)
            if self._ended_at > after.due_at:
                self.late.held_up.append(self._ended_at - after.due_at)
            if before.due_at < after.due_at and before.evaluations:
                between = self.line.newest_due(before.due_at, after.due_at - timedelta(microseconds=1))
                while between is not None:
                    self.late.unplayed += 1
                    between = self.line.newest_due(before.due_at, between - timedelta(microseconds=1))
        elif after.rounds > before.rounds and after.rounds > 1:
            self.late.rounds.append(now - self._ended_at)

    # Playing ------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        """Claim series, only during an evaluation: simulating the ladder of 1,600 teams would take years."""
        if not self._running:
            return
        while self._free and self._waiting:
            nudged_id = self._waiting.pop(0)
            with self.ledger.step() as step:
                job = self.world.write(turns.claim_next_series, nudged_id, "w1", self.world.host)
                step.name = "claim a series"
            if job is None:
                continue
            self._free -= 1
            seconds = sum(self.match_seconds * self._chance.uniform(0.7, 1.3) for _ in job.matches)
            ends_at = self.world.clock.now + timedelta(seconds=seconds)
            heapq.heappush(self._playing, (ends_at, next(self._numbers), job))

    def _end(self, job: SeriesJob) -> None:
        outcomes = [self._outcome(match) for match in job.matches]
        with self.ledger.step() as step:
            assert self.world.write(carrying_out.finish_series, job, "w1", outcomes)
            step.name = "finish a series"
        self._free += 1
        self.series, self.matches = self.series + 1, self.matches + len(outcomes)
        self._ended_at = self.world.clock.now
        with self.ledger.step() as step:
            low = self.world.read(schedule.runs_low, job.series_id, ended=True)
            step.name = "ask whether few are left"
        if low is not None:
            self._plan()

    def _outcome(self, match: MatchJob) -> MatchOutcome:
        if self._chance.random() < FAULTS:
            return forfeited(match, self._chance.randrange(2))
        if self._chance.random() < DRAWS:
            return replace(won(match), result=Result((1, 1), (Fraction(1), Fraction(1))))
        one, other = (self._strength[version] for version in match.seats)
        return won(match, int(self._chance.random() > 1 / (1 + math.exp(other - one))))


@dataclass(frozen=True, slots=True)
class State:
    """How far a season's evaluations are: how many there are and are done, the newest one's time and drawn rounds."""

    evaluations: int
    done: int
    due_at: datetime
    rounds: int


def _state(session: Session) -> State:
    found = session.exec(select(Evaluation).order_by(col(Evaluation.id).desc()).limit(1)).first()
    if found is None:
        return State(0, 0, START, 0)
    done = select(func.count()).select_from(Evaluation).where(Evaluation.state == ContestState.DONE)
    drawn = select(func.max(Meeting.round)).where(Meeting.contest_id == found.id)
    return State(found.number, session.exec(done).one(), found.due_at, session.exec(drawn).one() or 0)


def _added(session: Session, row: Row) -> Row:
    session.add(row)
    session.flush()
    return row
