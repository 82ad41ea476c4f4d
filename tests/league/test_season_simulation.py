"""Whole seasons are simulated. People interfere, workers fail and schedulers run at random times, and still each season
ends, its finals are fair, and its standings are published once. A failing run names its seed.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlmodel import Session, col, select

from deadheat.league import errors
from deadheat.league.jobs import Failure, MatchJob, MatchOutcome, SeriesJob
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import first_broken
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings import standings
from deadheat.league.service.rulings import rulings
from deadheat.league.service.seasons import absence, divisions, seasons
from deadheat.league.service.seasons import entries as league_entries
from deadheat.league.service.seasons.entries import Gate, enter
from deadheat.league.service.series import carrying_out, hosts
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.views.matches import matches
from deadheat.league.states import UNFINISHED, ContestState, FinalsFormat, Purpose, SeasonState
from deadheat.league.tables import Contest, Entry, Match, Participant, RatingSnapshot, Season, Series, VoidedMatch
from tests.lanes import scaled
from tests.league.ground import settings
from tests.league.outcomes import forfeited, void, won
from tests.league.seasons import at_gate
from tests.league.world import World, release_series

STEPS = 250
BOTS = 6


class Chaos:
    """A season in two divisions, in which one seed decides what happens."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.format = self.chance.choice(list(FinalsFormat))
        stages = ["round-robin matches=2 keep=2 further=4", "knockout matches=2 further=2"]
        self.season = world.season(
            0,
            divisions=[("First", 3), ("Second", None)],
            games_per_pair=6,
            series_length=3,
            finals=self.format,
            stages=stages if self.format is FinalsFormat.STAGES else None,
            finals_top=self.chance.choice([None, 2]),
            finals_games=2,
            finals_extra_games=self.chance.choice([0, 8]),
        )
        self.bots: list[tuple[Person, int]] = [world.bot() for _ in range(BOTS)]
        for number, (owner, bot_id) in enumerate(self.bots):
            gate: Gate = at_gate(elo1=100, games=20) if number % 2 else "none"
            with world.db.transaction() as session:
                enter(session, owner, self.season, bot_id, None, gate)
                if number < 3:
                    divisions.assign_division(session, world.boss, self.season, bot_id, 1)
        self.held: list[SeriesJob] = []
        self.known: list[int] = []
        self.versions_at_freeze: dict[int, int] = {}

    def run(self) -> None:
        actions = [self.tick, self.claim, self.claim, self.claim, self.finish, self.finish, self.finish, self.wait]
        people = [self.upload, self.choose, self.disqualify, self.turn, self.release, self.void, self.answer]
        for _ in range(STEPS):
            self.chance.choice([*actions, *actions, *people])()
            self.remember()
        self.drain()

    def state(self) -> SeasonState:
        return self.world.row(Season, self.season).state

    def versions(self) -> dict[int, int]:
        return {entry.bot_id: entry.version for entry in self.world.read(league_entries.entries, self.season)}

    def remember(self) -> None:
        """Note which versions play when the season freezes, and check that they stay until it opens again."""
        if self.state() in {SeasonState.SCHEDULED, SeasonState.OPEN}:
            self.versions_at_freeze = {}
        elif not self.versions_at_freeze:
            self.versions_at_freeze = self.versions()
        else:
            assert self.versions() == self.versions_at_freeze

    def tick(self) -> None:
        self.known += self.world.tick()

    def claim(self) -> None:
        if self.known:
            job = self.world.claim(self.chance.choice(self.known))
            if job is not None:
                self.held.append(job)

    def finish(self) -> None:
        if self.held:
            job = self.chance.choice(self.held)
            self.world.finish(job, [self.outcome(match) for match in job.matches])

    def outcome(self, match: MatchJob) -> MatchOutcome:
        seat = self.chance.randrange(2)
        voids = void(match), void(match, seat=seat)
        return self.chance.choice([*[won(match, seat)] * 6, forfeited(match, seat), forfeited(match, 0, 1), *voids])

    def release(self) -> None:
        if self.held:
            self.world.write(release_series, self.chance.choice(self.held), "w", Failure("container-died"))

    def wait(self) -> None:
        """Let time pass, sweep, rank and publish."""
        self.world.clock.turn(self.chance.choice([1, 10, 40]))
        with self.world.db.transaction() as session:
            self.known += sweep(session)[SERIES]
            hosts.record_check(session, self.world.host, {}, (), 0)  # the machine's engine has recovered
            due, over = standings.seasons_to_refit(session), standings.seasons_to_publish(session)
        for season_id in due:
            self.world.write(standings.refit, season_id)
        for season_id in over:
            self.world.write(standings.publish, season_id)

    def upload(self) -> None:
        owner, bot_id = self.chance.choice(self.bots)
        self.world.version(owner, bot_id)

    def choose(self) -> None:
        self.try_to(lambda session, owner, bot_id: enter(session, owner, self.season, bot_id))

    def disqualify(self) -> None:
        if self.chance.random() < 0.7:
            return
        verb = self.chance.choice([absence.disqualify, absence.reinstate])
        self.try_to(lambda session, _, bot_id: verb(session, self.world.boss, self.season, bot_id, "chaos"))

    def void(self) -> None:
        done = [match.id for match in self.world.read(matches, season_id=self.season) if match.finished_at]
        if done:
            match_id = self.chance.choice(done)
            verb = self.chance.choice([rulings.void_match, rulings.rejudge_match])
            self.try_to(lambda session, *_: verb(session, self.world.boss, match_id, "chaos"))

    def answer(self) -> None:
        """Let an organiser decide about a match that failed too often."""
        found = self.world.read(rulings.held_matches, self.world.boss)
        if found:
            match_id, loser = self.chance.choice(found).id, self.chance.randrange(2)
            verb: Callable[[Session], object] = self.chance.choice(
                [
                    lambda session: rulings.rejudge_match(session, self.world.boss, match_id, "chaos"),
                    lambda session: rulings.decide_match(session, self.world.boss, match_id, loser, "chaos"),
                    lambda session: rulings.leave_match(session, self.world.boss, match_id, "chaos"),
                ]
            )
            self.try_to(lambda session, *_: verb(session))

    def turn(self) -> None:
        """Let an organiser change the season's state, but rarely, so that the season lasts."""
        if self.chance.random() < 0.3:
            after = self.chance.choice([SeasonState.FROZEN, SeasonState.OPEN, SeasonState.FINALS])
            self.try_to(lambda session, *_: set_season_state(session, self.world.boss, self.season, after))

    def try_to(self, action: Callable[[Session, Person, int], object]) -> None:
        """Try an action on a random bot; it may fail only if the season's state or rules forbid it."""
        owner, bot_id = self.chance.choice(self.bots)
        try:
            self.world.write(action, owner, bot_id)
        except (errors.WrongState, errors.BadSetting):
            return

    def drain(self) -> None:
        """End the season by its finals or by hand, and play what is left."""
        for _ in range(100):
            if self.state() in {SeasonState.OPEN, SeasonState.FROZEN}:
                after = SeasonState.CLOSED if self.format is FinalsFormat.NONE else SeasonState.FINALS
                self.world.set_state(self.season, after, force=True)
            self.tick()
            self.world.clock.turn(100)
            self.world.play_left(self.world.enqueued())
            self.answer()
            self.wait()
            self.remember()
            if self.world.read(seasons.season_info, self.season).published_at is not None:
                return
        pytest.fail("it never came to its end")


def check(chaos: Chaos) -> None:
    assert chaos.world.rows(select(Series.id).where(col(Series.state).in_(UNFINISHED))) == []
    assert chaos.world.rows(select(Contest.id).where(Contest.state == ContestState.RUNNING)) == []
    assert chaos.world.one(select(RatingSnapshot.id).where(col(RatingSnapshot.final).is_(True)))
    assert chaos.world.read(first_broken) is None
    at_gates = select(Match.rated).join(Series, col(Series.id) == Match.series_id)
    assert set(chaos.world.rows(at_gates.where(Series.purpose == Purpose.CHALLENGE))) <= {False}
    entries = {one.version_id: one for one in chaos.world.rows(select(Entry).where(Entry.season_id == chaos.season))}
    rows = chaos.world.ranking(chaos.season)
    meetings = Counter(finals_tables(chaos.world))
    assert set(meetings.values()) <= {1}
    for table in meetings:
        assert len({entries[version].division for version in table}) == 1
        assert all(entries[version].finals_seed is not None for version in table)
    order = [(row["division"], row["rank"] is None, not row["finalist"]) for row in rows]
    assert order == sorted(order)


def finals_tables(world: World) -> list[frozenset[int]]:
    """Return the players at each table of the finals' rounds, without replays that an organiser ordered."""
    again = select(Match.series_id).join(VoidedMatch, col(VoidedMatch.rejudged_id) == Match.id)
    seated = (
        select(Series.id, Participant.version_id)
        .join(Match, col(Match.series_id) == Series.id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(Series.purpose == Purpose.FINALS, col(Series.round).is_not(None), col(Series.id).not_in(again))
    )
    tables: dict[int, set[int]] = {}
    for series_id, version in world.rows(seated):
        tables.setdefault(series_id, set()).add(version)
    return [frozenset(table) for table in tables.values()]


@pytest.mark.parametrize("seed", range(scaled(15, 2)))
def test_a_season_comes_to_its_end_whatever_happens(tmp_path: Path, monkeypatch, seed: int) -> None:
    monkeypatch.setattr(carrying_out, "SERIES_ATTEMPTS", 3)
    world = World(settings(tmp_path))
    chaos = Chaos(world, seed)
    chaos.run()
    check(chaos)
    world.close()
