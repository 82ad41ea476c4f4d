"""Machines and the API have the league's games, and the rules that were played are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from deadheat.engine.games import folder
from deadheat.league.jobs import Host
from deadheat.league.service.jobs import builds
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings import standings as league_recount
from deadheat.league.service.series import games, hosts, turns
from deadheat.league.service.tables import programs, sitting
from deadheat.league.states import JobState
from deadheat.league.tables import Series
from tests.league.outcomes import abandoned, won
from tests.league.people import GAME
from tests.league.world import World

OTHER_GAME = next(game.name for game in folder.identities() if game.name != GAME)
CHANGES = [{"rules_version": 99}, {"digest": "0" * 64}, {"name": "unheard-of"}]


def have(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Change this process's copy of the game that is played in `World`."""
    found = tuple(replace(game, **changed) if game.name == GAME else game for game in folder.identities())
    monkeypatch.setattr(games, "identities", lambda: found)


@pytest.mark.parametrize("changed", CHANGES)
def test_a_worker_with_another_game_plays_and_builds_nothing_of_it(world: World, monkeypatch, changed) -> None:
    world.season(games_per_pair=2)
    (series,) = world.tick()
    owner, bot_id = world.playing_bot()
    exhibition = world.write(sitting.take_seat, world.author(), bot_id)
    version = world.upload(owner, bot_id)
    with monkeypatch.context() as patch:
        have(patch, **changed)
        assert world.write(turns.claim_next_series, series, "w", world.host) is None
        assert world.write(programs.claim_table, exhibition, "w", world.host) is None
        assert world.write(builds.claim_next_build, version, "w") is None
    assert world.write(turns.claim_next_series, series, "w", world.host) is not None
    assert world.write(programs.claim_table, exhibition, "w", world.host) is not None
    assert world.write(builds.claim_next_build, version, "w") is not None


def test_it_goes_on_with_other_games_behind_which_the_one_waits(world: World, monkeypatch) -> None:
    world.season(games_per_pair=2)
    (first,) = world.tick()
    world.clock.turn(1)
    world.season(games_per_pair=2, game=OTHER_GAME)
    (second,) = world.tick()
    have(monkeypatch, digest="0" * 64)
    job = world.write(turns.claim_next_series, first, "w", world.host)
    assert job is not None and job.series_id == second


def test_a_series_that_one_worker_cannot_play_is_offered_again_in_a_moment(world: World, monkeypatch) -> None:
    world.season(games_per_pair=2)
    (series,) = world.tick()
    have(monkeypatch, digest="0" * 64)
    assert not world.write(turns.turn_away_series, series, world.host)
    row = world.row(Series, series)
    assert row.state is JobState.QUEUED
    assert row.nudge_at == world.clock.now + timedelta(seconds=world.settings.retry_seconds)


def test_what_the_api_has_is_the_leagues_game(world: World, monkeypatch) -> None:
    world.season(games_per_pair=2)
    (series,) = world.tick()
    have(monkeypatch, rules_version=99)
    world.write(games.announce_games)
    world.write(games.announce_games)  # as each of its processes does
    assert world.write(turns.claim_next_series, series, "w", world.host) is not None
    have(monkeypatch, name="unheard-of")
    world.write(games.announce_games)
    monkeypatch.undo()
    assert world.write(turns.claim_next_series, series, "w", world.host) is None, "no API has this game any more"


def test_operators_see_the_games_and_the_machines_with_other_ones(world: World, monkeypatch) -> None:
    here = {game.name: game for game in folder.identities()}
    listed = {game.name: game for game in world.read(games.games_for, world.boss)}
    known = {name: (game.rules_version, game.digest) for name, game in here.items()}
    assert {name: (game.rules_version, game.digest) for name, game in listed.items()} == known
    have(monkeypatch, digest="0" * 64)
    world.write(hosts.host_arrives, Host("stale", "boot"), "image")
    monkeypatch.undo()
    found = {host.name: host.disagreements for host in world.read(hosts.hosts)}
    assert found[world.host.name] == ()
    (told,) = found["stale"]
    assert GAME in told
    assert "000000000000" in told


def test_the_rules_that_were_played_are_told_with_the_season_and_its_rankings(world: World) -> None:
    season_id = world.season(2, series_length=1, games_per_pair=4)
    other = world.season(2)
    first, second, third, _ = world.tick()[:4]
    began = world.clock.now
    for series_id, version in ((first, 1), (second, 1), (third, 2)):
        job = world.claimed(series_id)
        assert world.finish(job, [replace(won(match), rules_version=version) for match in job.matches])
        world.clock.turn(60)
    with world.db.transaction() as session:
        assert standings.refit(session, season_id)
        found = {row.season_id: row.rules for row in standings.honesty(session)}
        board = standings.leaderboard(session, season_id)
        recount = league_recount.recount(session, season_id)
    assert [version for version, _ in found[season_id]] == [1, 2]
    assert found[season_id][0][1] == began
    assert found[other] == ()
    assert board.standings["rules"] == [1, 2]
    assert recount.same


def test_matches_that_nobody_could_play_say_nothing_of_the_rules(world: World) -> None:
    season_id = world.season(2)
    assert world.finish(world.claimed(world.tick()[0]), abandoned)
    assert [row.rules for row in world.read(standings.honesty) if row.season_id == season_id] == [()]
