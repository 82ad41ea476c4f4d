"""A season's variant of its game: matches are played, watched and verified by its numbers, and people play by them."""

from dataclasses import replace

import pytest
from sqlmodel import col, select

from deadheat.engine.core import Reply
from deadheat.engine.games.variants import rules_of
from deadheat.engine.replay import replay
from deadheat.engine.transcript import Transcript
from deadheat.league.errors import BadSetting
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import create_season, edit_season, season_info
from deadheat.league.service.series.live import show, watch
from deadheat.league.service.tables import sitting, viewing
from deadheat.league.service.views.matches import match_detail
from deadheat.league.tables import Match
from deadheat.league.verification.agreement import disagreements, verdict
from deadheat.workers.play import play_series
from deadheat.workers.tables import play_table
from tests.workers.conftest import PlayingWorld
from tests.workers.people import AtTheTable

GAME = "liars-dice"
NUMBERS = {"dice": 2, "turn_ms": 5000}
VARIANT = [f"{name}={value}" for name, value in NUMBERS.items()]


@pytest.fixture
def season(world: PlayingWorld) -> int:
    world.built_as("random", GAME)
    return world.season(game=GAME, variant=VARIANT, games_per_pair=2)


def transcripts(world: PlayingWorld) -> dict[int, Transcript]:
    with world.db.reading() as session:
        found = session.exec(select(Match.id, Match.transcript_sha256).order_by(col(Match.id))).all()
    return {number: world.transcript(name) for number, name in found}


def test_matches_are_played_by_the_seasons_numbers_and_verified_by_them(world: PlayingWorld, season: int) -> None:
    for series_id in world.tick():
        play_series(world.context, series_id)
    played = transcripts(world)
    assert len(played) == 2
    for number, transcript in played.items():
        assert transcript.variant == NUMBERS
        assert next(event for event in transcript.events() if event["type"] == "round")["counts"] == [2, 2]
        match = world.read(match_detail, number)
        assert verdict(transcript, disagreements(transcript, match)) == (True, None)
        otherwise = replace(transcript, variant={"dice": 2})
        assert disagreements(otherwise, match) == [
            "the variant is dice=2 in the transcript but dice=2, turn_ms=5000 in the league's record"
        ]
        assert verdict(otherwise, [])[0] is False


def test_who_watches_sees_it_by_the_same_numbers(world: PlayingWorld) -> None:
    world.season(game="betris-large", variant=["bank_ms=2500"])
    series_id, *_ = world.tick()
    job = world.claim(series_id)
    assert job is not None
    match_id = job.matches[0].match_id
    assert world.write(show, job, match_id, [{seat: Reply("OK", 1) for seat in (0, 1)}])
    watched = world.read(watch, match_id)
    assert watched.variant == ["bank_ms=2500"] and watched.match is not None
    assert (watched.match.prompt(0) or "").endswith(" 2500 2500")


def test_a_person_plays_the_variant_of_the_bots_newest_season(world: PlayingWorld, season: int) -> None:
    world.built_as("random", GAME)
    owner, bot_id = world.playing_bot(game=GAME)
    assert seated_and_played(world, bot_id).variant == {}, "its own season plays by the rules"
    world.write(enter, owner, world.season(0, game=GAME, variant=VARIANT), bot_id)
    transcript = seated_and_played(world, bot_id)
    assert transcript.variant == NUMBERS and replay(rules_of(transcript), transcript) == transcript


def seated_and_played(world: PlayingWorld, bot_id: int) -> Transcript:
    person = world.author()
    exhibition_id = world.write(sitting.take_seat, person, bot_id)
    with AtTheTable(world.db, person, exhibition_id):
        play_table(world.context, exhibition_id)
    return world.transcript(world.read(viewing.table_info, exhibition_id).transcript_sha256)


def test_a_season_takes_only_what_its_game_has(world: PlayingWorld) -> None:
    wrong = {"dice=9": "dice is 9, and must be from 1 to 5", "rounds=2": "liars-dice has no parameter rounds"}
    for word, why in wrong.items():
        with pytest.raises(BadSetting, match=why):
            world.write(create_season, world.boss, game=GAME, name=word, variant=[word])


def test_a_variant_is_settled_once_the_season_is_open_and_the_next_season_has_it_too(world: PlayingWorld) -> None:
    made = world.write(create_season, world.boss, game=GAME, name="first", variant=["dice=3"])
    world.write(edit_season, world.boss, made.id, variant=VARIANT)
    assert world.read(season_info, made.id).variant == VARIANT
    season_id = world.season(game=GAME, variant=VARIANT)
    with pytest.raises(BadSetting, match="it can no longer be changed"):
        world.write(edit_season, world.boss, season_id, variant=None)
