"""Rulings and appeals are tried in every state of seasons and matches; refusals say why and leave no trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import col, func, select

from deadheat.league.errors import LeagueError, WrongState
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.publishing import publish
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.rulings import appeals
from deadheat.league.service.rulings.appeals import appealable, open_appeal
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons.absence import disqualify, reinstate
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import IN_PLAY, AppealState, FinalsFormat, MatchState, Purpose, SeasonState
from deadheat.league.tables import AbsentEntry, Appeal, AuditRecord, Match, Series, VoidedMatch
from deadheat.league.words import Remedy
from tests.league.world import World


class Court:
    """A season of three bots in `state`, whose ladder has been played and whose finals have not."""

    def __init__(self, world: World, state: SeasonState) -> None:
        self.world, self.state = world, state
        self.season, self.owners, self.match, self.appeal = world.repeated(self._made, "court", state)

    def _made(self) -> tuple[int, list[Person], int, int]:
        world = self.world
        self.season = world.season(0, games_per_pair=2, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
        owners = [world.entrant(self.season)[0] for _ in range(3)]
        world.play_all()
        match = world.write(matches, bot_id=1)[-1].id
        appeal = world.write(open_appeal, owners[0], match, "no", {"verified": True}).id
        self.ranked()
        if self.state is not SeasonState.OPEN:
            world.set_state(self.season, self.state, force=True)
        world.clock.turn(60)
        return self.season, owners, match, appeal

    def rule(self, ruling: Callable[..., Any], /, *arguments: object, **named: object) -> Any:
        return self.world.write(ruling, self.world.boss, *arguments, **named)

    def refused(self, ruling: Callable[..., Any], /, *arguments: object, **named: object) -> LeagueError:
        """Return the refusal, and check that it left the database as it was."""
        before = self.traces()
        with pytest.raises(WrongState) as told:
            self.rule(ruling, *arguments, **named)
        assert self.traces() == before
        return told.value

    def traces(self) -> list[int]:
        """Count the rows that rulings write, and the open appeals."""
        tables = (VoidedMatch, AbsentEntry, AuditRecord, Series)
        counts = [self.world.one(select(func.count()).select_from(table)) for table in tables]
        still = select(func.count()).select_from(Appeal).where(col(Appeal.state) == AppealState.OPEN)
        return [*counts, self.world.one(still)]

    def ranked(self) -> dict[int, Any]:
        """Rank again; return the number of games of each ranked bot."""
        self.world.clock.turn(60)
        self.world.write(refit, self.season)
        return {row["bot_id"]: row["games"] for row in self.world.ranking(self.season) if row["rank"] is not None}


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
    court.world.play(court.world.enqueued())
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
    assert (court.world.read(match_detail, court.match).uncounted is None) == (remedy is Remedy.NONE)
    assert court.refused(appeals.rule, court.appeal, uphold=False, ruling="twice").code == "wrong-state"


def test_a_closed_season_takes_no_ruling_and_says_so(world: World) -> None:
    court = Court(world, SeasonState.CLOSED)
    assert world.write(publish, court.season)
    standings = published(court)
    refusals = [
        *(court.refused(ruling, court.match, "x") for ruling in (void_match, restore_match, rejudge_match)),
        *(court.refused(ruling, court.season, 1, "x") for ruling in (disqualify, reinstate)),
        *(
            court.refused(appeals.rule, court.appeal, uphold=True, ruling="x", remedy=remedy)
            for remedy in (Remedy.VOID, Remedy.REJUDGE)
        ),
    ]
    assert all("season is closed" in str(refusal) for refusal in refusals)
    with pytest.raises(WrongState, match="season is closed"):
        world.read(appealable, court.owners[0], court.match)
    ruled = court.rule(appeals.rule, court.appeal, uphold=False, ruling="too late, and wrong")
    assert ruled.state is AppealState.REJECTED, "an appeal that was open is still answered"
    assert published(court) == standings


def published(court: Court) -> tuple[str | None, Any]:
    board = court.world.read(leaderboard, court.season)
    return board.log_sha256, board.standings


def test_a_match_that_is_not_done_is_neither_ruled_on_nor_appealed_against(world: World) -> None:
    court = Court(world, SeasonState.OPEN)
    owner, _ = world.entrant(court.season)
    running, *_ = world.tick()
    assert world.claim(running) is not None
    waiting = world.rows(select(Match.series_id, Match.id).where(Match.state == MatchState.SCHEDULED))
    assert {series_id == running for series_id, _ in waiting} == {True, False}, "one is played, others wait"
    for _, match_id in waiting:
        for ruling in (void_match, restore_match, rejudge_match):
            assert "not over yet" in str(court.refused(ruling, match_id, "x"))
        with pytest.raises(WrongState, match="The match is not over yet; only results can be appealed"):
            world.read(appealable, owner, match_id)


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
    again = world.one(select(Series).order_by(col(Series.id).desc()).limit(1))
    assert again.purpose is Purpose.FINALS
    court.world.clock.turn(60)
    assert world.finish(world.claimed(again.id))
    assert court.ranked() == before
