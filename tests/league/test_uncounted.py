"""Why a match does not count, explained to people: it agrees with the log of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import select

from deadheat.league.records.matches import MatchDetail
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.counting import counts
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons.absence import disqualify
from deadheat.league.service.seasons.seasons import season_progress
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import MatchState, SeasonState
from deadheat.league.tables import Match, Participant
from deadheat.league.words import Uncounting
from tests.league.test_challenges import Entrant
from tests.league.world import World, abandoned, forfeited, won


@pytest.fixture
def season(world: World) -> int:
    """Three bots; every pair has played one series of two."""
    season_id = world.season(3, games_per_pair=2)
    world.play_all()
    return season_id


def detail(world: World, match_id: int) -> MatchDetail:
    return world.read(match_detail, match_id)


def rule(world: World, ruling: Callable[..., Any], *arguments: object) -> Any:
    return world.write(ruling, world.boss, *arguments)


def agrees(world: World, season_id: int) -> None:
    """Check that the matches explained to people are those that are not ranked."""
    with world.db.reading() as session:
        told = matches(session, season_id=season_id, state=MatchState.DONE, limit=1000)
        ranked = set(session.exec(select(Match.id).where(*counts(season_id))))
        progress = season_progress(session, season_id)
        assert season_progress(session, season_id, whole=False) == progress, "few matches are counted to the last"
    assert {match.id for match in told if match.uncounted is None} == ranked
    assert (progress.done, progress.counting) == (len(told), len(ranked))
    assert len(told) > len(ranked), "some do not count"


def test_a_voided_match_says_so_until_it_is_restored(world: World, season: int) -> None:
    assert rule(world, void_match, 1, "a cosmic ray")
    assert not rule(world, void_match, 1, "another one"), "it was void already"
    why = detail(world, 1).uncounted
    assert why is not None
    assert why.cause is Uncounting.VOIDED
    assert why.sentence.endswith("a cosmic ray")
    agrees(world, season)
    assert rule(world, restore_match, 1, "it was none")
    assert not rule(world, restore_match, 1, "it was none"), "it counted already"
    assert detail(world, 1).uncounted is None


def test_a_rejudged_match_leads_to_the_one_in_its_place_and_back(world: World, season: int) -> None:
    second = rule(world, rejudge_match, 1, "the host was late")
    why = detail(world, 1).uncounted
    assert why is not None
    assert (why.cause, why.rejudged_id) == (Uncounting.REJUDGED, second)
    assert detail(world, second).repeats_id == 1
    assert detail(world, second).uncounted is None, "it is not played yet: nothing is said of it"
    world.clock.turn(60)
    (series_id,) = world.write(sweep)[SERIES]
    assert world.finish(world.claimed(series_id))
    third = rule(world, rejudge_match, second, "late again")
    for match_id, later in ((1, second), (second, third)):
        told = detail(world, match_id).uncounted
        assert told is not None
        assert told.rejudged_id == later
    agrees(world, season)


def test_matches_of_a_disqualified_bot_name_it(world: World, season: int) -> None:
    name = world.read(bot_info, 1).name
    rule(world, disqualify, season, 1, "it helps another bot")
    with world.db.reading() as session:
        played = set(session.exec(select(Participant.match_id).where(Participant.bot_id == 1)))
        told = matches(session, season_id=season, state=MatchState.DONE, limit=100)
    for match in told:
        assert (match.uncounted is not None) == (match.id in played)
        if match.uncounted is not None:
            assert match.uncounted.cause is Uncounting.DISQUALIFIED
            assert match.uncounted.sentence == f"{name} is disqualified in this season."
    agrees(world, season)


def test_a_match_without_a_winner_and_one_at_a_gate_do_not_count(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0, 1), won(job.matches[1])])
    why = detail(world, job.matches[0].match_id).uncounted
    assert why is not None
    assert why.cause is Uncounting.NO_WINNER
    entrant = Entrant(world)
    entrant.upload()
    job = world.claimed()
    assert world.finish(job)
    why = detail(world, job.matches[0].match_id).uncounted
    assert why is not None
    assert why.cause is Uncounting.GATE
    agrees(world, season_id)
    agrees(world, entrant.season_id)


def test_a_match_that_was_not_played_says_why_not(world: World) -> None:
    first, second, third = (world.season(2, series_length=1, games_per_pair=1) for _ in range(3))
    for series_id in world.tick():
        job = world.claim(series_id) if series_id == 1 else None
        if job is not None:
            assert world.finish(job, [abandoned(job.matches[0])])
    rule(world, disqualify, second, 3, "it cheats")
    world.write(set_season_state, world.boss, third, SeasonState.CLOSED, force=True)
    with world.db.reading() as session:
        ids = {match.season_id: match.id for match in matches(session, state=MatchState.ABANDONED)}
    assert detail(world, ids[first]).not_played.endswith("(most recently: host-unknown).")
    again = rule(world, rejudge_match, ids[first], "the host is well again")
    assert detail(world, ids[first]).not_played.endswith(f"It is replayed as match {again}.")
    assert detail(world, again).repeats_id == ids[first]
    assert detail(world, ids[second]).not_played == "A bot of this series was taken out."
    assert detail(world, ids[third]).not_played == "The season closed before this series was played."
