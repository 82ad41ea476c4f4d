"""Workers, schedulers, sweepers, keepers in any order: each match ends exactly once. A failing run names its seed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from sqlmodel import col, func, select

from league import service
from league.jobs import MatchJob, MatchOutcome, SeriesJob
from league.states import MatchState, SeriesState
from league.tables import Attempt, Match, Pair, Participant, Series
from tests.league.world import World, abandoned, forfeited, settings, won

STEPS = 150


class Chaos:
    """A league whose workers stall, die, repeat themselves and come late, driven by one seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.season = world.season(3, series_length=3, games_per_pair=9)
        self.held: list[SeriesJob] = []
        self.known: list[int] = []

    def run(self) -> None:
        for _ in range(STEPS):
            self.chance.choice(
                [
                    self.tick,
                    self.claim,
                    self.claim,
                    self.renew,
                    self.finish,
                    self.finish,
                    self.release,
                    self.wait,
                    self.doubt,
                ]
            )()
        self.drain()

    def tick(self) -> None:
        self.known += self.world.tick()

    def claim(self) -> None:
        """A message arrives; perhaps an old one."""
        if self.known:
            job = self.world.claim(self.chance.choice(self.known), f"w{self.chance.randrange(3)}")
            if job is not None:
                self.held.append(job)

    def renew(self) -> None:
        if self.held:
            with self.world.db.transaction() as session:
                service.renew_series(session, self.chance.choice(self.held))

    def finish(self) -> None:
        """A worker reports; it may report again, or be long out of date."""
        if self.held:
            job = self.chance.choice(self.held)
            self.world.finish(job, [self.outcome(match) for match in job.matches])

    def outcome(self, match: MatchJob) -> MatchOutcome:
        seat = self.chance.randrange(2)
        ended = [won(match, seat), won(match, seat), won(match, seat), forfeited(match, seat), forfeited(match, 0, 1)]
        return self.chance.choice([*ended, abandoned(match)])

    def release(self) -> None:
        if self.held:
            job = self.chance.choice(self.held)
            with self.world.db.transaction() as session:
                service.release_series(session, job, "w", "no-engine", "", {})

    def wait(self) -> None:
        """Time passes, and the sweeper comes by."""
        self.world.clock.turn(self.chance.choice([1, 10, 40]))
        with self.world.db.transaction() as session:
            swept = service.sweep(session)
        self.known += swept.series_ids

    def doubt(self) -> None:
        """The machine is found unfit while it plays, or fit again."""
        with self.world.db.transaction() as session:
            if self.chance.randrange(3):
                service.record_check(session, self.world.host, {}, (), 60)
            else:
                service.record_canary(session, self.world.host, 0, [{"told": "for the test"}], 0)

    def drain(self) -> None:
        """Calm at last: everything that is left is played."""
        with self.world.db.transaction() as session:
            service.record_check(session, self.world.host, {}, (), 60)
        for _ in range(200):
            self.tick()
            self.world.clock.turn(100)
            with self.world.db.transaction() as session:
                waiting = service.sweep(session).series_ids
            for series_id in waiting:
                job = self.world.claim(series_id)
                assert job is not None
                assert self.world.finish(job)
            if not self.unfinished() and not self.world.tick():
                return
        pytest.fail("it never came to rest")

    def unfinished(self) -> int:
        with self.world.db.reading() as session:
            states = [SeriesState.QUEUED, SeriesState.RUNNING]
            return session.exec(select(func.count()).select_from(Series).where(col(Series.state).in_(states))).one()


def check(world: World, season_id: int) -> None:
    """What must hold whatever happened."""
    with world.db.reading() as session:
        matches = {match.id: match for match in session.exec(select(Match))}
        series = {row.id: row for row in session.exec(select(Series))}
        played = Counter(session.exec(select(Attempt.match_id).where(Attempt.cause == "played")).all())
        ranks = Counter(session.exec(select(Participant.match_id).where(col(Participant.rank).is_not(None))).all())
        planned = session.exec(select(func.sum(Pair.games))).one()
    assert len(matches) == planned == 27
    for match in matches.values():
        done = match.state is MatchState.DONE
        assert match.state is not MatchState.SCHEDULED
        assert played[match.id] == (1 if done else 0)
        assert ranks[match.id] == (2 if done else 0)
        if series[match.series_id].state is SeriesState.ABANDONED:
            assert match.state is MatchState.ABANDONED
    with world.db.transaction() as session:
        service.refit(session, season_id)
        board = service.leaderboard(session, season_id).standings
        assert service.first_broken(session) is None
    rated = sum(match.rated for match in matches.values())
    assert board["totals"]["rated"] == rated
    assert sum(row["games"] for row in [*board["rows"], *board["unranked"]]) == 2 * rated


@pytest.mark.parametrize("seed", range(20))
def test_each_match_ends_exactly_once(tmp_path: Path, seed: int) -> None:
    world = World(settings(tmp_path, series_attempts=3))
    chaos = Chaos(world, seed)
    chaos.run()
    check(world, chaos.season)
    world.close()
