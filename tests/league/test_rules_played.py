"""The audit page shows the rules that a season was played under, not those of today."""

from __future__ import annotations

from dataclasses import replace

from deadheat.league.service.rankings import honesty, standings
from deadheat.league.service.rankings import recount as league_recount
from tests.league.outcomes import abandoned, won
from tests.league.world import World


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
        found = {row.season_id: row.rules for row in honesty.honesty(session)}
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
    assert [row.rules for row in world.read(honesty.honesty) if row.season_id == season_id] == [()]
