"""Duels at gates, on request and at panels: their rule, and whole histories that stay as they were."""

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.engine.core import Result
from deadheat.league import errors, sprt
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.pairing.duel import Count, Duel
from deadheat.league.service.contests.life import POLICIES
from deadheat.league.service.course.planning import KINDS
from deadheat.league.service.duels import requests
from deadheat.league.service.duels.counting import matchups
from deadheat.league.service.duels.panels import runs as runs_of
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import rulings
from deadheat.league.service.seasons import absence, seasons
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.series import carrying_out
from deadheat.league.service.views.uncounted import BY_KIND
from deadheat.league.states import UNRATED, ContestKind, ContestState, JobState, MatchState, SeasonState
from deadheat.league.tables import BotVersion, Contest, Entry, Match, Meeting, Participant, Series
from deadheat.league.words import Outcome
from tests.lanes import scaled
from tests.league.ground import settings
from tests.league.outcomes import abandoned, forfeited, void, won
from tests.league.seasons import at_gate
from tests.league.world import World

GOLDEN = Path(__file__).parent / "duels"
"""What was planned and decided in each history, by the seed. Without a file, a test writes it and fails."""

STEPS = 150

TESTED, PLAIN, REPLAYED = Duel(40, sprt.Terms(0, 100)), Duel(20), Duel(20, replays=True)


@pytest.mark.parametrize(
    ("duel", "count", "outcome"),
    [
        (TESTED, Count(wins=30), Outcome.STRONGER),
        (TESTED, Count(losses=30), Outcome.NOT_STRONGER),
        (TESTED, Count(wins=3, losses=2), None),
        (TESTED, Count(wins=12, losses=11, draws=17), Outcome.SPENT),
        (PLAIN, Count(wins=19), None),
        (PLAIN, Count(wins=18, both_failed=1, voided=1), Outcome.SPENT),
        (PLAIN, Count(wins=19, abandoned=20), Outcome.UNPLAYABLE),
        (REPLAYED, Count(wins=19, voided=9, abandoned=99), None),
        (REPLAYED, Count(wins=19, both_failed=1), Outcome.SPENT),
    ],
)
def test_a_duel_is_over_once_its_games_decide_it(duel: Duel, count: Count, outcome: Outcome | None) -> None:
    assert duel.judge(count)[0] is outcome


def test_the_next_series_goes_on_with_the_other_side() -> None:
    assert PLAIN.draw(Count(), 0, 3) == (3, True)
    assert PLAIN.draw(Count(wins=3), 3, 3) == (3, False)
    assert PLAIN.draw(Count(wins=18, voided=1), 19, 3) == (1, False), "a voided game is spent"


def test_a_series_with_replays_catches_up_with_the_side_that_lost_games() -> None:
    assert REPLAYED.draw(Count(wins=4, begun=2), 9, 3) == (3, True)
    assert REPLAYED.draw(Count(wins=4, begun=3), 9, 3) == (1, False)
    assert REPLAYED.draw(Count(wins=4, voided=2, begun=1), 9, 3) == (1, True)
    assert REPLAYED.draw(Count(wins=19, begun=10), 19, 3) == (1, False)


class History:
    """A season with a panel, gates and requests, in which one seed decides what people and machines do."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance, self.lines = world, random.Random(seed), list[str]()
        self.seen: dict[str, str] = {}
        house = world.author("owner")
        panel = [world.bot(name, owner=house)[1] for name in ("easy", "hard")]
        self.season = world.season(
            0,
            series_length=self.chance.choice([1, 2, 3]),
            panel=[None, ["owner/easy"], ["owner/easy", "owner/hard"]][seed % 3],
            panel_games=self.chance.choice([2, 3, 5]),
            unrated_games=40,
            challenge_games=40,
            games_per_pair=1,
        )
        shared = world.bot()
        self.bots = [
            (house, panel[0]),
            shared,
            (shared[0], world.bot(owner=shared[0])[1]),
            *(world.bot() for _ in range(6)),
        ]
        for owner, bot_id in self.bots:
            gate = at_gate(0, self.chance.choice([100, 300]), games=self.chance.choice([4, 10, 20]))
            world.write(enter, owner, self.season, bot_id, None, gate)

    def run(self) -> str:
        people = [*[self.upload] * 4, *[self.ask] * 4, self.enter, self.rule, self.answer, self.stop, self.leave]
        for _ in range(STEPS):
            act = self.chance.choice([*[self.tick] * 6, *[self.play] * 8, *people, *people, self.settings])
            act()
            self.note()
        for state in (SeasonState.OPEN, SeasonState.CLOSED):
            self.attempt(lambda: self.world.set_state(self.season, state, force=True))  # noqa: B023  it acts at once
            self.tick()
            self.note()
        return "\n".join(self.lines) + "\n"

    def attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except errors.LeagueError as error:
            self.lines.append(f"refused: {error}")

    def write(self, act: Callable[..., object], *given: Any, **named: Any) -> None:
        self.attempt(lambda: self.world.write(act, *given, **named))

    def tick(self) -> None:
        self.world.tick()

    def play(self) -> None:
        queued = self.world.rows(select(Series.id).where(Series.state == JobState.QUEUED).order_by(col(Series.id)))
        for series_id in self.chance.sample(queued, min(len(queued), 4)):
            job = self.world.claim(series_id)
            if job is not None:
                self.world.finish(job, [self.outcome(match) for match in job.matches])

    def outcome(self, match: MatchJob) -> MatchOutcome:
        """Let the newer version win more often, and now and then nobody."""
        better = match.seats.index(max(match.seats))
        seat = better if self.chance.random() < 0.6 else 1 - better
        drawn = replace(won(match), result=Result((1, 1), (Fraction(1), Fraction(1))))
        rare = [drawn, forfeited(match, seat), forfeited(match, 0, 1), void(match, seat=seat), abandoned(match)]
        return self.chance.choice([*[won(match, seat)] * 9, *rare])

    def someone(self) -> tuple[Person, int]:
        return self.chance.choice(self.bots)

    def upload(self) -> None:
        owner, bot_id = self.someone()
        program = self.chance.choice(["", "", f"{bot_id} again"])
        self.attempt(lambda: self.world.version(owner, bot_id, program=program))

    def enter(self) -> None:
        owner, bot_id = self.someone()
        self.write(enter, owner, self.season, bot_id, self.chance.choice([None, None, 1, 2, 3]))

    def ask(self) -> None:
        owner, bot_id = self.someone()
        terms = Duel(self.chance.choice([1, 2, 5]), self.chance.choice([None, sprt.Terms(0, 300)]))
        versions = {"bot_id": bot_id, "opponent_id": self.someone()[1], "private": self.chance.random() < 0.3}
        self.write(requests.ask, owner, self.season, terms, **versions)

    def stop(self) -> None:
        """Stop a duel. The histories are older than contests, and number all duels alike, as meetings are."""
        who, number = self.someone()[0], self.chance.randint(1, 40)
        found = self.world.rows(select(Meeting.contest_id).where(Meeting.id == number))
        contest_id = found[0] if found else 1000
        try:
            self.world.write(requests.stop, who, contest_id)
        except errors.LeagueError as error:
            self.lines.append(f"refused: {str(error).replace(f'challenge {contest_id}', f'challenge {number}')}")

    def rule(self) -> None:
        """Let an organiser rule on a match of a duel that continues."""
        of_duels = select(Match.id).join(Series, col(Series.id) == Match.series_id)
        of_duels = of_duels.join(Meeting, col(Meeting.id) == Series.meeting_id)
        of_duels = of_duels.join(Contest, col(Contest.id) == Meeting.contest_id)
        of_duels = of_duels.where(col(Match.finished_at).is_not(None), Contest.state == ContestState.RUNNING)
        for match_id in self.world.rows(of_duels.order_by(col(Match.id)))[-3:]:
            verb = self.chance.choice([rulings.void_match, rulings.void_match, rulings.rejudge_match])
            self.write(verb, self.world.boss, match_id, "chaos")

    def answer(self) -> None:
        waiting = select(Match.id).where(Match.state == MatchState.HELD).order_by(col(Match.id))
        for match_id in self.world.rows(waiting)[:3]:
            self.write(
                self.chance.choice([rulings.leave_match, rulings.rejudge_match]), self.world.boss, match_id, "chaos"
            )

    def leave(self) -> None:
        owner, bot_id = self.someone()
        if self.chance.random() < 0.5:
            self.write(self.chance.choice([absence.withdraw, absence.rejoin]), owner, self.season, bot_id)
        else:
            verb = self.chance.choice([absence.disqualify, absence.reinstate])
            self.write(verb, self.world.boss, self.season, bot_id, "chaos")

    def settings(self) -> None:
        """Let time pass, freeze or open the season, or change a setting."""
        self.world.clock.turn(self.chance.choice([10, 4000]))
        after = self.chance.choice([None, None, SeasonState.FROZEN, SeasonState.OPEN, SeasonState.OPEN])
        if after is not None:
            self.attempt(lambda: self.world.set_state(self.season, after))
            return
        panel = self.chance.choice([None, ["owner/easy"], ["owner/easy", "owner/hard"]])
        minimum = self.chance.choice([None, 1]) if panel else None
        changed: list[dict[str, Any]] = [
            {"unrated_games": 0},
            {"unrated_games": 40},
            {"panel": panel, "panel_minimum": minimum},
        ]
        self.write(seasons.edit_season, self.world.boss, self.season, **self.chance.choice(changed))

    def whose(self, row: Contest, runs: list[Contest]) -> str:
        if row.kind is ContestKind.PANEL:
            return f"panel_id {[run.id for run in runs].index(row.id) + 1}"
        return f"asker_id {row.asker_id}" if row.kind is ContestKind.REQUEST else f"entry_id {row.entry_id}"

    def note(self) -> None:
        """Note what has changed: duels, panels, versions that play, and series with the versions at each seat."""
        now = {}
        with self.world.db.reading() as session:
            numbers = dict(session.exec(select(BotVersion.id, BotVersion.number)).all())
            bots = dict(session.exec(select(BotVersion.id, BotVersion.bot_id)).all())
            name = {version: f"{bots[version]}v{number}" for version, number in numbers.items()}
            runs = runs_of(session)
            for one in matchups(session):
                row, score = one.contest, one.meeting.score
                sides = f"{self.whose(row, runs)}: {name[one.candidate_id]} {name[one.opponent_id]}"
                won, llr = "/".join(str(score[key]) for key in ("wins", "draws", "losses")), f"LLR {score['llr']:.3f}"
                state, reason = row.state.value, row.reason
                if row.kind is ContestKind.PANEL and row.state is not ContestState.RUNNING:
                    state, reason = "ended", row.reason or "All its games have been played."
                of = f"{sides} {state} {won} of {row.matches}, {llr}, planned {one.meeting.planned}. {reason}"
                now[f"duel {one.meeting.id}"] = of
            for number, run in enumerate(runs, 1):
                points, minimum = run.result["points"], run.terms["minimum"]
                now[f"run {number}"] = f"{name[run.candidate_id]} {run.state} {points} of {minimum} {run.reason}"
            for entry in session.exec(select(Entry).order_by(col(Entry.id))):
                now[f"entry {entry.id}"] = f"{name[entry.version_id]} {'waits' if entry.waits_for_panel else 'plays'}"
            seats: dict[int, list[str]] = {}
            seated = select(Match.series_id, Participant.version_id).join(Match, col(Match.id) == Participant.match_id)
            for series_id, version in session.exec(seated.order_by(col(Match.id), col(Participant.seat))):
                seats.setdefault(series_id, []).append(name[version])
            for series in session.exec(select(Series).order_by(col(Series.id))):
                what = f"{series.purpose} {series.precedence:d} of {series.meeting_id}"
                now[f"series {series.id}"] = f"{what} {series.state}: {' '.join(seats[series.id])}"
        self.lines += (f"{key}: {text}" for key, text in now.items() if self.seen.get(key) != text)
        self.seen = now


def test_each_kind_of_contest_says_how_it_is_planned_and_why_its_matches_do_not_count() -> None:
    assert KINDS.keys() == POLICIES.keys() == {*ContestKind}
    unrated = {kind for kind, policy in POLICIES.items() if policy.purposes[0] in UNRATED}
    assert unrated - BY_KIND.keys() == {ContestKind.STAGE}, "the matches of stages are rated"


@pytest.mark.parametrize("seed", range(scaled(3, 2)))
def test_what_is_planned_and_decided_stays_as_it_was(tmp_path: Path, monkeypatch, seed: int) -> None:
    monkeypatch.setattr(carrying_out, "SERIES_ATTEMPTS", 3)
    world = World(settings(tmp_path))
    found, file = History(world, seed).run(), GOLDEN / f"{seed}.txt"
    world.close()
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
        pytest.fail(f"{file} is new: look at it")
    assert found == file.read_text(encoding="utf-8")
