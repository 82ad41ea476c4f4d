"""Seasons have entries, and series are planned for them."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlmodel import col, select

from deadheat.engine.chance import commitment
from deadheat.league import errors
from deadheat.league.jobs import Host
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.seasons import entries, seasons
from deadheat.league.service.series import capacity, hosts
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.queues import queues
from deadheat.league.states import JobState, MatchState, SeasonState
from deadheat.league.tables import Attempt, Match, Series
from tests.league.people import GAME
from tests.league.world import World


@pytest.mark.parametrize(
    ("game", "seats", "length", "wished", "played"),
    [("liars-dice", 2, 3, 5, 4), ("liars-dice", 2, 2, 1, 2), (GAME, 2, 4, 5, 5)],
)
def test_a_season_says_how_many_matches_are_really_played(
    world: World, game: str, seats: int, length: int, wished: int, played: int
) -> None:
    season_id = world.season(3, game=game, seats=seats, series_length=length, games_per_pair=wished)
    season = world.read(seasons.season_info, season_id)
    assert season.plays.games_per_pair == played
    assert world.play_all() == 3 * played
    assert (f"{played} of each pair, not {wished}" in season.rounded) == (played != wished)


def has_slots(world: World, host: Host, slots: int, *reasons: str) -> None:
    """Let a machine with `slots` slots arrive and be checked; any `reasons` make it unfit."""
    world.write(hosts.host_arrives, host, "image")
    world.write(hosts.record_check, host, {"slots": slots}, reasons, 60)


def test_the_bound_of_open_series_follows_the_slots_that_judge(world: World) -> None:
    world.season(4, series_length=1, games_per_pair=100)
    assert len(world.tick()) == capacity.OPEN_SERIES
    assert world.tick() == []
    has_slots(world, Host("big", "boot"), 30)
    has_slots(world, Host("unfit", "boot"), 100, "Too much noise.")
    assert len(world.tick()) == 2 * 30, "all 31 slots play, and as many series wait"
    world.clock.turn(world.settings.lease_seconds + 1)  # the big one is gone
    assert world.tick() == []


def test_slots_that_idle_beside_unplayed_matches_are_told(world: World) -> None:
    def told() -> tuple[int, int]:
        found = world.read(queues)
        return found.slots, found.idle_slots

    has_slots(world, world.host, 4)
    assert told() == (4, 0), "nothing is to be played"
    world.season(2, series_length=1, games_per_pair=2)
    assert told() == (4, 4), "nobody has planned yet"
    first, second = world.tick()
    job = world.claim(first)
    assert told() == (4, 3), "one waits for a slot"
    other = world.claim(second)
    assert told() == (4, 0), "what is left is being played"
    assert job is not None and other is not None
    assert world.finish(job) and world.finish(other)
    assert told() == (4, 0)


def test_seeds_are_secret_and_committed_to(world: World) -> None:
    season_id = world.season()
    series_id = world.tick()[0]
    rows = world.rows(select(Match))
    shown = world.read(league_matches.matches, season_id=season_id)
    assert len({row.seed for row in rows}) == len(rows)
    assert all(row.commitment == commitment(row.seed) for row in rows)
    assert all(match.seed is None and match.commitment for match in shown)
    job = world.claimed(series_id)
    assert world.finish(job)
    done = world.read(league_matches.matches, season_id=season_id, state=MatchState.DONE)
    assert [match.seed for match in done[::-1]] == [match.seed.hex() for match in job.matches]


def test_closing_drops_what_waits_and_counts_what_runs(world: World) -> None:
    season_id = world.season(3, games_per_pair=2)
    first, *others = world.tick()
    job = world.claimed(first)
    with pytest.raises(errors.Unsettled, match=r"Season 1 has 4 matches still to be played\."):
        world.set_state(season_id, SeasonState.CLOSED)
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    assert world.claim(others[0]) is None
    assert world.tick() == []
    assert world.finish(job)
    found = {row.id: row.state for row in world.rows(select(Series))}
    matches = Counter(world.rows(select(Match.state)))
    causes = world.rows(select(Attempt.cause).where(col(Attempt.match_id).is_(None)))
    assert found[first] is JobState.DONE
    assert {found[other] for other in others} == {JobState.ABANDONED}
    assert (matches, causes) == ({MatchState.DONE: 2, MatchState.ABANDONED: 4}, ["season-closed"] * 2)


def test_a_new_version_takes_over_once_it_is_ready(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.entrant(season_id)
    second, third, broken = (world.upload(owner, bot_id) for _ in range(3))
    assert world.plays(season_id, bot_id) == 1
    world.build(third)
    assert world.plays(season_id, bot_id) == 3
    world.build(second)
    world.build(broken, "does not compile")
    assert world.plays(season_id, bot_id) == 3


def test_only_an_owner_enters_a_bot_with_a_version_that_is_ready_in_an_open_season(world: World) -> None:
    season_id, closed = world.season(0), world.season(0)
    world.set_state(closed, SeasonState.CLOSED)
    owner, bot_id = world.bot()
    world.upload(owner, bot_id)
    for refusal, who, season, number in (
        (errors.WrongState, owner, closed, None),
        (errors.NotFound, world.author(), season_id, None),
        (errors.NotFound, owner, 999, None),
        (errors.NotFound, owner, season_id, 7),
        (errors.NotReady, owner, season_id, 2),
    ):
        world.refused(refusal, entries.enter, who, season, bot_id, number)


def test_a_bot_that_is_not_built_cannot_enter(world: World) -> None:
    season_id, owner = world.season(0), world.author()
    bot_id = world.write(create_bot, owner, GAME, "fresh").id
    assert "there are no uploads" in world.refused(errors.NotReady, entries.enter, owner, season_id, bot_id)
    world.version(owner, bot_id, "main.c:3: expected ';'\nmore of it")
    with pytest.raises(errors.NotReady, match=r"the newest is broken: main.c:3: expected ';'.$"):
        world.write(entries.enter, owner, season_id, bot_id)
