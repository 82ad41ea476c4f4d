"""Everybody sees a bot's opponents, failures and versions, and what is new in the league."""

from __future__ import annotations

import pytest
from sqlmodel import select

from deadheat.engine.core import Fault
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.rulings.rulings import void_match
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.views import careers, news
from deadheat.league.states import SeasonState, VersionState
from deadheat.league.tables import Participant
from tests.league.outcomes import forfeited, won
from tests.league.people import GAME
from tests.league.world import World


def seated(world: World, match_id: int) -> list[int]:
    chosen = select(Participant.bot_id).where(Participant.match_id == match_id)
    return world.rows(chosen.order_by(Participant.seat))  # type: ignore[arg-type]  # a column


def test_opponents_are_counted_from_the_bots_own_side(world: World) -> None:
    season_id = world.season(2, series_length=3, games_per_pair=3)
    job = world.claimed()
    outcomes = [won(job.matches[0], 0), won(job.matches[1], 0), won(job.matches[2], 1)]
    assert world.finish(job, outcomes)
    wins = dict.fromkeys(seated(world, job.matches[0].match_id), 0)
    for match, winner in zip(job.matches, (0, 0, 1), strict=True):
        wins[seated(world, match.match_id)[winner]] += 1
    one, other = wins
    [met] = world.read(careers.opponents, season_id, one)
    assert (met.bot_id, met.matches, met.won, met.drawn, met.lost) == (other, 3, wins[one], 0, wins[other])
    assert (met.bot, met.author) == next((row.name, row.author) for row in [world.read(bot_info, other)])
    faced = world.read(careers.opponents, season_id, other)
    assert [(row.won, row.lost) for row in faced] == [(wins[other], wins[one])]


def test_a_voided_match_is_no_meeting(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job)
    bot_id = seated(world, job.matches[0].match_id)[0]
    world.write(void_match, world.boss, job.matches[0].match_id, "a mistake")
    [met] = world.write(careers.opponents, season_id, bot_id)
    assert met.matches == 1


def test_failures_are_told_by_cause_and_version(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0), won(job.matches[1])])
    loser, other = seated(world, job.matches[0].match_id)
    [failure] = world.read(careers.failures, season_id, loser)
    assert (failure.match_id, failure.version, failure.fault) == (job.matches[0].match_id, 1, Fault.TIMEOUT)
    assert world.read(careers.failure_counts, season_id, loser) == {(1, Fault.TIMEOUT): 1}
    for season, bot in ((season_id, other), (season_id + 1, loser)):
        assert world.read(careers.failures, season, bot) == []


def test_versions_and_seasons_of_a_bot_and_bots_of_an_author(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot("deep")
    world.version(owner, bot_id, "it does not compile")
    world.write(enter, owner, season_id, bot_id)
    with world.db.reading() as session:
        broken, ready = VersionState.BROKEN, VersionState.READY
        shown = careers.public_versions(session, bot_id)
        assert [(row.number, row.state) for row in shown] == [(2, broken), (1, ready)]
        [part] = careers.parts_of(session, [bot_id])[bot_id]
        assert (part.season_id, part.state, part.version) == (season_id, SeasonState.OPEN, 1)
        name, [bot] = careers.author_bots(session, owner.name.upper())
        assert (name, bot.id) == (owner.name, bot_id)
        with pytest.raises(NotFound):
            careers.author_bots(session, "nobody")
        assert news.newest_versions(session, 1, game=GAME)[0].number == 2
        assert news.newest_versions(session, 1, game="liars-dice") == []
        counts = careers.game_counts(session, GAME)
        assert (counts.bots, counts.authors, counts.versions) == (1, 1, 2)


def test_series_that_are_played_are_told_until_they_end(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    assert world.read(news.running_series, 5) == []
    job = world.claimed()
    [running] = world.read(news.running_series, 5)
    assert (running.id, running.season_id, running.matches) == (job.series_id, season_id, 2)
    assert [bot_id for bot_id, _ in running.bots] == seated(world, running.first_match_id)
    assert world.finish(job)
    assert world.read(news.running_series, 5) == []
