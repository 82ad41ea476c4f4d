"""How much may be uploaded in a time."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from league import errors, service
from league.states import SeasonState
from league.tables import Season
from tests.league.world import World, settings


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[World]:
    made = World(settings(tmp_path, database_url=database_url, uploads_per_hour=3, versions_per_day=4))
    yield made
    made.close()


def test_an_hour_after_the_first_upload_the_next_is_taken(world: World) -> None:
    owner, bot_id = world.bot()
    world.clock.turn(600)
    world.upload(owner, bot_id)
    world.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota, match="at most 3 uploads by one author an hour") as refused:
        world.upload(owner, bot_id)
    assert refused.value.retry_after_seconds == 3000
    world.clock.turn(2999.5)
    with pytest.raises(errors.OverQuota) as refused:
        world.upload(owner, bot_id)
    assert refused.value.retry_after_seconds == 1
    world.clock.turn(0.5)
    world.upload(owner, bot_id)


def test_a_bot_has_only_so_many_versions_a_day(world: World) -> None:
    owner, bot_id = world.bot()
    for _ in range(3):
        world.clock.turn(3600)
        world.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota, match="versions of one bot a day") as refused:
        world.upload(owner, bot_id)
    assert refused.value.retry_after_seconds == 21 * 3600
    _, other = world.bot(owner=owner)  # another bot's day has just begun
    assert other != bot_id


def test_the_quota_is_asked_before_a_byte_is_received(world: World) -> None:
    owner, bot_id = world.bot()
    with world.db.reading() as session:
        service.may_upload(session, owner, bot_id)
    world.upload(owner, bot_id)
    world.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota), world.db.reading() as session:
        service.may_upload(session, owner, bot_id)


def test_a_season_may_be_stricter_for_those_who_take_part(world: World) -> None:
    season_id = world.season(0)
    with world.db.transaction() as session:
        session.get_one(Season, season_id).versions_per_day = 1
        session.get_one(Season, season_id).uploads_per_hour = 2
    owner, bot_id = world.bot()
    outside = world.author()
    _, other = world.bot(owner=outside)
    with world.db.transaction() as session:
        service.enter(session, owner, season_id, bot_id)
    with pytest.raises(errors.OverQuota, match="versions of one bot for season 1 a day") as refused:
        world.upload(owner, bot_id)
    assert refused.value.retry_after_seconds == 24 * 3600
    world.upload(outside, other)
    world.clock.turn(24 * 3600)
    world.upload(owner, bot_id)


def test_a_season_that_takes_no_more_versions_asks_for_no_quota(world: World) -> None:
    season_id = world.season(0)
    with world.db.transaction() as session:
        session.get_one(Season, season_id).versions_per_day = 1
    owner, bot_id = world.bot()
    with world.db.transaction() as session:
        service.enter(session, owner, season_id, bot_id)
        service.set_season_state(session, world.boss, season_id, SeasonState.FROZEN)
    world.upload(owner, bot_id)


def test_two_uploads_at_once_are_one_after_the_other(world: World) -> None:
    owner = world.author()
    bots = [world.bot(owner=owner)[1] for _ in range(2)]
    taken: list[int] = []
    barrier = threading.Barrier(2)

    def upload(bot_id: int) -> None:
        barrier.wait()
        with contextlib.suppress(errors.OverQuota):
            taken.append(world.upload(owner, bot_id))

    threads = [threading.Thread(target=upload, args=(bot_id,)) for bot_id in bots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1


def test_waiting_is_told_in_whole_seconds_that_suffice(world: World) -> None:
    owner, bot_id = world.bot()
    world.clock.turn(0.4)
    world.upload(owner, bot_id)
    world.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota) as refused:
        world.upload(owner, bot_id)
    assert refused.value.retry_after_seconds == math.ceil(3599.6)
