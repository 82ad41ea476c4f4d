"""The reason that people see for a match that does not count agrees with the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import select

from deadheat.league.records.matches import MatchDetail, Uncounted
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.ground.counting import counts
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons.absence import disqualify
from deadheat.league.service.seasons.seasons import season_progress
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import MatchState, SeasonState
from deadheat.league.tables import Match, Participant
from deadheat.league.words import Uncounting
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.test_challenges import Entrant
from tests.league.world import World


@pytest.fixture
def season(world: World) -> int:
    """Return a season of three bots in which each pair has played two matches."""
    season_id = world.season(3, games_per_pair=2)
    world.play_all()
    return season_id


def detail(world: World, match_id: int) -> MatchDetail:
    return world.read(match_detail, match_id)


def why(world: World, match_id: int) -> Uncounted:
    found = detail(world, match_id).uncounted
    assert found is not None
    return found


def rule(world: World, ruling: Callable[..., Any], *arguments: object) -> Any:
    return world.write(ruling, world.boss, *arguments)


def agrees(world: World, season_id: int) -> None:
    """Check that the matches with a reason are exactly those that are not ranked."""
    told = world.read(matches, season_id=season_id, state=MatchState.DONE, limit=1000)
    ranked = set(world.rows(select(Match.id).where(*counts(season_id))))
    progress = world.read(season_progress, season_id)
    assert world.read(season_progress, season_id, whole=False) == progress, "few matches are counted to the last"
    assert {match.id for match in told if match.uncounted is None} == ranked
    assert (progress.done, progress.counting) == (len(told), len(ranked))
    assert len(told) > len(ranked), "some do not count"


def test_a_voided_match_says_so_until_it_is_restored(world: World, season: int) -> None:
    assert rule(world, void_match, 1, "a cosmic ray")
    assert not rule(world, void_match, 1, "another one"), "it was void already"
    assert why(world, 1).cause is Uncounting.VOIDED
    assert why(world, 1).sentence.endswith("a cosmic ray")
    agrees(world, season)
    assert rule(world, restore_match, 1, "it was none")
    assert not rule(world, restore_match, 1, "it was none"), "it counted already"
    assert detail(world, 1).uncounted is None


def test_a_rejudged_match_leads_to_the_one_in_its_place_and_back(world: World, season: int) -> None:
    second = rule(world, rejudge_match, 1, "the host was late")
    assert (why(world, 1).cause, why(world, 1).rejudged_id) == (Uncounting.REJUDGED, second)
    assert detail(world, second).repeats_id == 1
    assert detail(world, second).uncounted is None, "it is not played yet: nothing is said of it"
    world.clock.turn(60)
    world.play(world.enqueued())
    third = rule(world, rejudge_match, second, "late again")
    for match_id, later in ((1, second), (second, third)):
        assert why(world, match_id).rejudged_id == later
    agrees(world, season)


def test_matches_of_a_disqualified_bot_name_it(world: World, season: int) -> None:
    name = world.read(bot_info, 1).name
    rule(world, disqualify, season, 1, "it helps another bot")
    played = set(world.rows(select(Participant.match_id).where(Participant.bot_id == 1)))
    told = world.read(matches, season_id=season, state=MatchState.DONE, limit=100)
    for match in told:
        assert (match.uncounted is not None) == (match.id in played)
        if match.uncounted is not None:
            assert match.uncounted.cause is Uncounting.DISQUALIFIED
            assert name in match.uncounted.sentence
    agrees(world, season)


def test_a_match_without_a_winner_and_one_at_a_gate_do_not_count(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0, 1), won(job.matches[1])])
    assert why(world, job.matches[0].match_id).cause is Uncounting.NO_WINNER
    entrant = Entrant(world)
    entrant.upload()
    job = world.claimed()
    assert world.finish(job)
    assert why(world, job.matches[0].match_id).cause is Uncounting.GATE
    agrees(world, season_id)
    agrees(world, entrant.season_id)


def test_a_match_that_was_not_played_says_why_not(world: World) -> None:
    first, second, third = (world.season(2, series_length=1, games_per_pair=1) for _ in range(3))
    world.tick()
    world.play([1], abandoned)
    rule(world, disqualify, second, 3, "it cheats")
    world.set_state(third, SeasonState.CLOSED, force=True)
    ids = {match.season_id: match.id for match in world.read(matches, state=MatchState.ABANDONED)}
    assert detail(world, ids[first]).not_played.endswith("(most recently: host-unknown).")
    again = rule(world, rejudge_match, ids[first], "the host is well again")
    assert detail(world, ids[first]).not_played.endswith(f"It is replayed as match {again}.")
    assert detail(world, again).repeats_id == ids[first]
    assert detail(world, ids[second]).not_played == "A bot of this series was taken out."
    assert detail(world, ids[third]).not_played == "The season closed before this series was played."
