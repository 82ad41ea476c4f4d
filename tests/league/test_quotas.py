"""Quotas limit uploads in a period."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlmodel import Session

from deadheat.league import errors
from deadheat.league.service.bots import bots as league_bots
from deadheat.league.service.bots.bots import Upload, create_bot, may_upload
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.entries import enter
from deadheat.league.states import SeasonState
from tests.league.ground import settings
from tests.league.people import GAME, SHA
from tests.league.world import World


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[World]:
    made = World(settings(tmp_path, database_url=database_url, uploads_per_hour=3, versions_per_day=4))
    yield made
    made.close()


def test_an_hour_after_the_first_upload_the_next_is_taken(world: World) -> None:
    owner, bot_id = world.bot()
    world.clock.turn(600)
    world.upload(owner, bot_id)
    world.read(may_upload, owner, bot_id)
    world.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota):
        world.read(may_upload, owner, bot_id)
    with pytest.raises(errors.OverQuota, match="uploads by one author: the limit is 3 an hour") as caught:
        world.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 3000
    world.clock.turn(2999.5)
    with pytest.raises(errors.OverQuota) as caught:
        world.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 1
    world.clock.turn(0.5)
    world.upload(owner, bot_id)


def test_a_bot_has_only_so_many_versions_a_day(world: World) -> None:
    owner, bot_id = world.bot()
    for _ in range(3):
        world.clock.turn(3600)
        world.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota, match="versions of one bot: the limit is 4 a day") as caught:
        world.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 21 * 3600
    _, other = world.bot(owner=owner)  # another bot of the same owner has its own quota
    assert other != bot_id


def test_a_season_may_be_stricter_for_those_who_take_part(world: World) -> None:
    season_id = world.season(0, versions_per_day=1, uploads_per_hour=2)
    owner, bot_id = world.bot()
    outside = world.author()
    _, other = world.bot(owner=outside)
    world.write(enter, owner, season_id, bot_id)
    with pytest.raises(errors.OverQuota, match="versions of one bot for season 1: the limit is 1 a day") as caught:
        world.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 24 * 3600
    world.upload(outside, other)
    world.clock.turn(24 * 3600)
    world.upload(owner, bot_id)


def test_a_season_that_takes_no_more_versions_asks_for_no_quota(world: World) -> None:
    season_id = world.season(0, versions_per_day=1)
    owner, bot_id = world.entrant(season_id)
    world.set_state(season_id, SeasonState.FROZEN)
    world.upload(owner, bot_id)


def add_version(who: Person, bot_id: int) -> Callable[[Session], object]:
    return lambda session: league_bots.add_version(session, who, bot_id, Upload("bot.py", 10, SHA, "python", "main.py"))


@pytest.mark.databases
def test_an_author_who_uploads_for_two_bots_at_once_is_over_the_quota(world: World) -> None:
    owner = world.author()
    bots = [world.bot(owner=owner)[1] for _ in range(2)]
    with pytest.raises(errors.OverQuota, match="by one author"):
        world.at_once(add_version(owner, bots[0]), add_version(owner, bots[1]))


@pytest.mark.databases
def test_two_members_who_upload_one_bot_at_once_are_over_its_quota(world: World) -> None:
    ada, bob = world.author(), world.author()
    bot_id = world.write(create_bot, ada, GAME, "shared", world.team(ada, bob)).id
    for _ in range(3):
        world.upload(ada, bot_id)
    world.clock.turn(3600)
    with pytest.raises(errors.OverQuota, match="versions of one bot"):
        world.at_once(add_version(ada, bot_id), add_version(bob, bot_id))


def test_a_season_may_limit_uploads_in_five_minutes(world: World) -> None:
    owner, bot_id = world.entrant(world.season(0, uploads_per_five_minutes=1))
    with pytest.raises(errors.OverQuota, match="the limit is 1 in five minutes; try again in 5 minutes"):
        world.upload(owner, bot_id)
    world.clock.turn(300)
    world.upload(owner, bot_id)
