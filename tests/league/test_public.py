"""Organisers choose when a season's transcripts and sources are public."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from sqlmodel import select

from deadheat.league.errors import BadSetting, NotFound, WrongState
from deadheat.league.service.exports import Scope, export_page, public_source
from deadheat.league.service.rulings.appeals import appealable
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import create_season, edit_season
from deadheat.league.service.series.live import watch
from deadheat.league.service.views import matches, overview
from deadheat.league.states import SeasonState, SourcesFrom, TranscriptsFrom
from deadheat.league.tables import Entry
from deadheat.league.words import Exported
from tests.league.outcomes import won
from tests.league.refusals import refused
from tests.league.world import World

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "data-export.md"


def published(world: World, season_id: int) -> None:
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    world.settle_rankings()


@pytest.mark.databases
def test_moves_are_withheld_until_the_standings_are_published(world: World) -> None:
    season_id = world.season(2, games_per_pair=2, transcripts=TranscriptsFrom.CLOSED)
    (series_id,) = world.tick()
    job = world.claimed(series_id)
    assert world.read(watch, 1).withheld
    assert world.finish(job, lambda match: replace(won(match), comeback=7.5))
    told = world.read(matches.match_detail, 1)
    assert (told.withheld, told.seed, told.transcript_sha256, told.comeback) == (True, None, None, None)
    assert told.seats[0].rank is not None, "results are public at once"
    assert all(one.withheld for one in world.read(matches.matches))
    refused(WrongState, world.read, matches.transcript_of, 1)
    assert world.read(overview.worth_watching) == [], "the home page shows none of them"
    assert world.read(overview.highlights, season_id) == {}, "nor does the season's"
    ((row, *_), _) = world.read(export_page, Scope(season_id), Exported.MATCHES)
    assert (row["seed"], row["transcript_sha256"], row["comeback"]) == (None, None, None)
    published(world, season_id)
    told = world.read(matches.match_detail, 1)
    assert (told.withheld, told.transcript_sha256) == (False, world.read(matches.transcript_of, 1))
    ((row, *_), _) = world.read(export_page, Scope(season_id), Exported.MATCHES)
    assert told.comeback == row["comeback"] == 7.5
    assert 1 in world.read(overview.worth_watching)


def test_authors_read_their_own_stderr_and_may_appeal_meanwhile(world: World) -> None:
    owner, bot_id = world.playing_bot()
    world.write(enter, owner, world.season(1, games_per_pair=2, transcripts=TranscriptsFrom.CLOSED), bot_id)
    world.play_all()
    assert [one.seat for one in world.read(matches.endings, owner, 1)]
    assert world.read(appealable, owner, 1) == bot_id
    assert world.read(matches.match_detail, 1, owner, whole=True).transcript_sha256
    assert world.read(matches.match_detail, 1, owner).transcript_sha256 is None


@pytest.mark.databases
def test_sources_of_versions_that_played_are_public_with_the_standings(world: World) -> None:
    world.playing_bot("sample", owner=world.author("ada"))
    season_id = world.season(2, games_per_pair=2, sources=SourcesFrom.CLOSED, panel=["ada/sample"])
    world.play_all()
    assert world.read(export_page, Scope(season_id), Exported.SOURCES) == ([], None)
    published(world, season_id)
    rows, _ = world.read(export_page, Scope(season_id), Exported.SOURCES)
    played = {row["version_id"] for row in rows}
    assert len(played) == 2, "not the panel's"
    section = PAGE.read_text(encoding="utf-8").partition("## `sources`")[2]
    assert re.findall(r"`([a-z0-9_]+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))) == list(rows[0])
    for version_id in range(1, 4):
        if version_id in played:
            assert world.read(public_source, season_id, version_id).source_sha256
        else:
            refused(NotFound, world.read, public_source, season_id, version_id)


@pytest.mark.databases
def test_the_source_of_a_version_that_never_played_stays_private(world: World) -> None:
    season_id = world.season(2, games_per_pair=2, sources=SourcesFrom.CLOSED)
    assert world.tick(), "their series are planned, and dropped when the season closes"
    published(world, season_id)
    assert world.read(export_page, Scope(season_id), Exported.SOURCES) == ([], None)


def test_nobody_is_carried_over_into_a_season_that_newly_publishes_sources(world: World) -> None:
    season_id = world.ranked(2)
    published(world, season_id)
    made = {
        sources: world.write(create_season, world.boss, name=sources.value, previous_id=season_id, sources=sources).id
        for sources in SourcesFrom
    }
    entered = {sources: world.rows(select(Entry).where(Entry.season_id == made[sources])) for sources in made}
    assert {sources: len(rows) for sources, rows in entered.items()} == {SourcesFrom.CLOSED: 0, SourcesFrom.NEVER: 2}
    with pytest.raises(BadSetting, match="sources"):
        world.write(edit_season, world.boss, made[SourcesFrom.NEVER], sources=SourcesFrom.CLOSED)


def test_sources_stay_private_unless_it_was_said_before(world: World) -> None:
    season_id = world.season(2, games_per_pair=2)
    assert "sources" in world.refused(BadSetting, edit_season, world.boss, season_id, sources=SourcesFrom.CLOSED)
    world.play_all()
    published(world, season_id)
    assert world.read(export_page, Scope(season_id), Exported.SOURCES) == ([], None)
    refused(NotFound, world.read, public_source, season_id, 1)
