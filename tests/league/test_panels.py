"""The panel on arrival: every version plays the season's sample bots first, and a minimum there decides whether it may
play for its bot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.league import errors
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.records.entries import Entry
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.seasons.entries import enter, entry_info
from deadheat.league.states import ChallengeState, Purpose, SeasonState
from deadheat.league.tables import BotVersion, Match, PanelRun, Participant, Series
from deadheat.league.tables import Entry as EntryRow
from tests.league.world import World, abandoned, forfeited, won

Outcome = Callable[[MatchJob, int], MatchOutcome]
"""How a match ends in which the newcomer has that seat."""


def win(match: MatchJob, seat: int) -> MatchOutcome:
    return won(match, seat)


def lose(match: MatchJob, seat: int) -> MatchOutcome:
    return won(match, 1 - seat)


def fault(match: MatchJob, seat: int) -> MatchOutcome:
    return forfeited(match, seat)


def unplayed(match: MatchJob, seat: int) -> MatchOutcome:
    return abandoned(match)


class Contest:
    """A season with a panel of two, `owner/easy` and `owner/hard`, which do not play in it, and one newcomer."""

    def __init__(self, world: World, **settings: Any) -> None:
        self.world = world
        self.house = world.author("owner")
        self.panel = [world.bot(name, owner=self.house)[1] for name in ("easy", "hard")]
        settings = {"panel": ["owner/easy", "owner/hard"], "panel_minimum": 2, **settings}
        self.season_id = world.season(0, **settings)
        self.owner, self.bot_id = world.bot("newcomer")

    def enter(self, number: int | None = None, **chosen: Any) -> Entry:
        return self.world.write(enter, self.owner, self.season_id, self.bot_id, number, **chosen)

    def entry(self) -> Entry:
        return self.world.read(entry_info, self.season_id, self.bot_id)

    def waits(self) -> bool:
        mine = select(EntryRow.waits_for_panel).where(EntryRow.bot_id == self.bot_id)
        return self.world.read(lambda session: session.exec(mine.where(EntryRow.season_id == self.season_id)).one())

    def upload(self, program: str = "") -> int:
        version_id = self.world.upload(self.owner, self.bot_id)
        self.world.build(version_id, program=program)
        return version_id

    def runs(self) -> list[PanelRun]:
        return self.world.read(lambda session: list(session.exec(select(PanelRun).order_by(col(PanelRun.id)))))

    def states(self) -> list[str]:
        return [run.state.value for run in self.runs()]

    def planned(self) -> list[int]:
        """New series against the panel."""
        made = self.world.tick()
        return [one for one in made if self.world.row(Series, one).purpose is Purpose.PANEL]

    def play(self, *outcomes: Outcome, series: Sequence[int] | None = None) -> list[int]:
        """Play what is planned against the panel; the outcomes in turn, the last one for all others; its matches."""
        played: list[int] = []
        for series_id in self.planned() if series is None else series:
            job = self.world.claimed(series_id)
            results = []
            for match in job.matches:
                bots = [self.world.row(BotVersion, version).bot_id for version in match.seats]
                seat = next(seat for seat, bot_id in enumerate(bots) if bot_id not in self.panel)
                results.append(outcomes[min(len(played), len(outcomes) - 1)](match, seat))
                played.append(match.match_id)
            assert self.world.finish(job, results)
        return played

    def state(self, state: SeasonState) -> None:
        self.world.write(set_season_state, self.world.boss, self.season_id, state)


@pytest.fixture
def contest(world: World) -> Contest:
    return Contest(world)


def test_a_version_plays_each_bot_of_the_panel_from_both_sides_and_then_plays_for_its_bot(contest: Contest) -> None:
    contest.enter()
    assert contest.waits()
    played = contest.play(win, lose)
    seats = contest.world.read(
        lambda session: session.exec(
            select(Participant.seat, Participant.bot_id).where(col(Participant.match_id).in_(played))
        ).all()
    )
    assert sorted(seats) == sorted(
        [(0, contest.bot_id), (1, contest.bot_id)] * 2 + [(seat, bot) for bot in contest.panel for seat in (0, 1)]
    )
    assert not any(contest.world.row(Match, match_id).rated for match_id in played)
    contest.world.tick()  # one of four points: too few
    (run,) = contest.runs()
    assert (run.state, run.points, run.minimum) == (ChallengeState.FAILED, 1.0, 2.0)
    assert contest.waits()


def test_nothing_is_drawn_for_a_bot_without_the_points(contest: Contest) -> None:
    contest.enter()
    other = contest.world.bot()
    contest.world.write(enter, other[0], contest.season_id, other[1])
    contest.play(lose)
    assert contest.world.tick() == []
    assert contest.states() == ["failed", "failed"]


def test_the_newest_version_with_the_points_plays(contest: Contest) -> None:
    contest.enter()
    contest.play(win)
    contest.world.tick()
    assert (contest.entry().version, contest.waits()) == (1, False)
    contest.upload()
    contest.play(lose)
    contest.world.tick()
    assert contest.entry().version == 1
    contest.upload()
    contest.play(win, win, lose)
    assert contest.entry().version == 1
    contest.world.tick()
    assert contest.entry().version == 3


def test_a_version_without_the_points_cannot_be_chosen(contest: Contest) -> None:
    contest.enter()
    contest.play(win)
    contest.world.tick()
    contest.upload()
    contest.play(lose)
    contest.world.tick()
    with pytest.raises(errors.NotAdmitted, match="version 2 has 0 points against the panel, and 2 are needed"):
        contest.enter(2)
    assert contest.entry().version == 1
