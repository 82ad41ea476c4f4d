"""Rulings and appeals in every state of a season and of a match: carried out where they are allowed, otherwise refused
with a reason and without a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import col, func, select

from deadheat.league.errors import LeagueError, WrongState
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.publishing import publish
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.rulings import appeals
from deadheat.league.service.rulings.appeals import appealable, open_appeal
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons.absence import disqualify, reinstate
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import IN_PLAY, AppealState, FinalsFormat, MatchState, Purpose, SeasonState
from deadheat.league.tables import AbsentEntry, Appeal, AuditRecord, Match, Series, VoidedMatch
from deadheat.league.words import Remedy
from tests.league.world import World


class Court:
    """A season of three bots whose ladder has been played, in some state; finals are begun and not played."""

    def __init__(self, world: World, state: SeasonState) -> None:
        self.world, self.state = world, state
        self.season = world.season(0, games_per_pair=2, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
        self.owners: list[Person] = []
        for _ in range(3):
            owner, bot_id = world.bot()
            self.owners.append(owner)
            world.write(enter, owner, self.season, bot_id)
        world.play_all()
        self.match = world.write(matches, bot_id=1)[-1].id
        self.appeal = world.write(open_appeal, self.owners[0], self.match, "no", {"verified": True}).id
        self.ranked()
        if state is not SeasonState.OPEN:
            self.rule(set_season_state, self.season, state, force=True)
        world.clock.turn(60)

    def rule(self, ruling: Callable[..., Any], /, *arguments: object, **named: object) -> Any:
        return self.world.write(ruling, self.world.boss, *arguments, **named)

    def refused(self, ruling: Callable[..., Any], /, *arguments: object, **named: object) -> LeagueError:
        """The refusal, after which the database is as it was."""
        before = self.traces()
        with pytest.raises(WrongState) as told:
            self.rule(ruling, *arguments, **named)
        assert self.traces() == before
        return told.value

    def traces(self) -> list[int]:
        """How many rows there are of all that a ruling writes, and of open appeals."""
        with self.world.db.reading() as session:
            tables = (VoidedMatch, AbsentEntry, AuditRecord, Series)
            counts = [session.exec(select(func.count()).select_from(table)).one() for table in tables]
            still = select(func.count()).select_from(Appeal).where(col(Appeal.state) == AppealState.OPEN)
            return [*counts, session.exec(still).one()]

    def ranked(self) -> dict[int, Any]:
        """Each bot's games after a refit, None where it is not ranked."""
        self.world.clock.turn(60)
        self.world.write(refit, self.season)
        rows = self.world.read(leaderboard, self.season).standings["rows"]
        return {row["bot_id"]: row["games"] for row in rows if row["rank"] is not None}

    def play_again(self) -> None:
        found = self.world.write(sweep)[SERIES]
        for series_id in found:
            assert self.world.finish(self.world.claimed(series_id))


@pytest.fixture(params=IN_PLAY)
def court(world: World, request: pytest.FixtureRequest) -> Court:
    return Court(world, request.param)


def test_a_match_is_voided_restored_and_rejudged_while_the_season_goes_on(court: Court) -> None:
    before = court.ranked()
    assert court.rule(void_match, court.match, "x")
    assert sum(court.ranked().values()) == sum(before.values()) - 2
    assert court.rule(restore_match, court.match, "x")
    assert court.ranked() == before
    court.rule(rejudge_match, court.match, "x")
    court.play_again()
    assert court.ranked() == before, "the repetition counts in its place, in the finals too"


def test_a_bot_is_disqualified_and_reinstated_while_the_season_goes_on(court: Court) -> None:
    before = court.ranked()
    court.rule(disqualify, court.season, 1, "x")
    assert court.ranked() == {2: 2, 3: 2}
    court.rule(reinstate, court.season, 1, "x")
    assert court.ranked() == before


@pytest.mark.parametrize("remedy", list(Remedy))
def test_an_appeal_is_upheld_while_the_season_goes_on(court: Court, remedy: Remedy) -> None:
    ruled = court.rule(appeals.rule, court.appeal, uphold=True, ruling="right", remedy=remedy)
    assert ruled.state is AppealState.UPHELD
    why = court.world.read(match_detail, court.match).uncounted
    assert (why is None) == (remedy is Remedy.NONE)
    assert court.refused(appeals.rule, court.appeal, uphold=False, ruling="twice").code == "wrong-state"


def test_a_closed_season_takes_no_ruling_and_says_so(world: World) -> None:
    court = Court(world, SeasonState.CLOSED)
    assert world.write(publish, court.season)
    standings = published(court)
    refusals = [
        court.refused(void_match, court.match, "x"),
        court.refused(restore_match, court.match, "x"),
        court.refused(rejudge_match, court.match, "x"),
        court.refused(disqualify, court.season, 1, "x"),
        court.refused(reinstate, court.season, 1, "x"),
        court.refused(appeals.rule, court.appeal, uphold=True, ruling="x", remedy=Remedy.VOID),
        court.refused(appeals.rule, court.appeal, uphold=True, ruling="x", remedy=Remedy.REJUDGE),
    ]
    assert all(str(refusal).startswith("The season is closed; ") for refusal in refusals)
    with pytest.raises(WrongState, match="season is closed"), world.db.reading() as session:
        appealable(session, court.owners[0], court.match)
    ruled = court.rule(appeals.rule, court.appeal, uphold=False, ruling="too late, and wrong")
    assert ruled.state is AppealState.REJECTED, "an appeal that was open is still answered"
    assert published(court) == standings


def published(court: Court) -> tuple[str | None, Any]:
    board = court.world.read(leaderboard, court.season)
    return board.log_sha256, board.standings


def test_a_match_that_is_not_done_is_neither_ruled_on_nor_appealed_against(world: World) -> None:
    court = Court(world, SeasonState.OPEN)
    owner, bot_id = world.bot()
    world.write(enter, owner, court.season, bot_id)
    running, *_ = world.tick()
    assert world.claim(running) is not None
    with world.db.reading() as session:
        waiting = session.exec(select(Match.series_id, Match.id).where(Match.state == MatchState.SCHEDULED)).all()
    assert {series_id == running for series_id, _ in waiting} == {True, False}, "one is played, others wait"
    for _, match_id in waiting:
        for ruling in (void_match, restore_match, rejudge_match):
            assert str(court.refused(ruling, match_id, "x")) == "The match is not over yet; organisers rule on results."
        with (
            pytest.raises(WrongState, match="The match is not over yet; only results can be appealed"),
            world.db.reading() as session,
        ):
            appealable(session, owner, match_id)


def test_a_match_of_the_finals_is_voided_and_rejudged(world: World) -> None:
    court = Court(world, SeasonState.FINALS)
    world.tick()  # the finals' tables follow from the frozen ladder's ranking
    court.ranked()
    job = world.claimed(world.tick()[0])
    assert world.finish(job)
    match_id = job.matches[0].match_id
    before = court.ranked()
    assert court.rule(void_match, match_id, "x")
    assert sum(court.ranked().values()) == sum(before.values()) - 2
    court.rule(rejudge_match, match_id, "x")
    with world.db.reading() as session:
        again = session.exec(select(Series).order_by(col(Series.id).desc()).limit(1)).one()
    assert again.purpose is Purpose.FINALS
    court.world.clock.turn(60)
    assert world.finish(world.claimed(again.id))
    assert court.ranked() == before
