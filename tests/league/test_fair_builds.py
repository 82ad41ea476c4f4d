"""An author with many uploads waits for their builds; other authors do not wait for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlmodel import select

from deadheat.league.jobs import Failure
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.jobs.builds import BuildJob, BuildOutcome, claim_next_build, finish_build, give_back_build
from deadheat.league.service.people.person import Person
from deadheat.league.tables import BotVersion
from tests.league.world import World


def upload(world: World, owner: Person, count: int) -> list[int]:
    bot_id = world.write(create_bot, owner, "yacht-auction", f"bot{world.clock.now:%H%M%S}").id
    return [world.upload(owner, bot_id) for _ in range(count)]


def claim(world: World, nudged_id: int, worker: str = "w1") -> BuildJob | None:
    return world.write(claim_next_build, nudged_id, worker)


def finish(world: World, job: BuildJob) -> None:
    assert world.write(finish_build, job, BuildOutcome("b" * 64, "", ""))


def built(world: World, nudges: Iterator[int], count: int) -> list[int]:
    """Build what is next at each of `count` messages; return the versions in that order."""
    found = []
    for _ in range(count):
        job = claim(world, next(nudges))
        assert job is not None
        finish(world, job)
        found.append(job.version_id)
        world.clock.turn(1)
    return found


def test_a_flood_of_uploads_does_not_keep_others_waiting(world: World) -> None:
    flood = upload(world, world.author("flood"), 50)
    nudges = iter(flood)
    assert built(world, nudges, 3) == flood[:3]
    ada, bob = upload(world, world.author("ada"), 2), upload(world, world.author("bob"), 1)
    assert built(world, nudges, 4) == [ada[0], bob[0], ada[1], flood[3]]


def test_builds_under_way_count(world: World) -> None:
    ada, bob = upload(world, world.author("ada"), 2), upload(world, world.author("bob"), 2)
    taken = [job.version_id for number in range(4) if (job := claim(world, ada[0], f"w{number}"))]
    assert taken == [ada[0], bob[0], ada[1], bob[1]]
    assert claim(world, ada[0]) is None


def test_builds_of_long_ago_are_forgiven(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    built(world, iter(upload(world, ada, 1)), 1)
    ours = upload(world, ada, 1) + upload(world, bob, 1)
    assert built(world, iter(ours), 1) == [ours[1]]
    world.clock.turn(3600)
    assert built(world, iter(upload(world, bob, 1)), 1) == [ours[0]]


def test_one_bots_members_count_each_for_themselves(world: World) -> None:
    """Builds are shared fairly among the members who upload; their team does not count as one author."""
    ada, bob = world.author("ada"), world.author("bob")
    ids = upload(world, ada, 3)
    world.change(BotVersion, ids[2], uploader_id=bob.id)
    assert built(world, iter(ids), 3) == [ids[0], ids[2], ids[1]]


def test_every_message_builds_one_upload_and_every_upload_is_built(world: World) -> None:
    ids = [version for number in range(4) for version in upload(world, world.author(f"a{number}"), 3)]
    assert sorted(built(world, iter(reversed(ids)), 12)) == ids
    assert claim(world, ids[0]) is None
    assert set(world.rows(select(BotVersion.state))) == {"ready"}


def test_a_build_that_we_failed_waits_for_its_own_message(world: World) -> None:
    failed, fresh = upload(world, world.author("ada"), 1), upload(world, world.author("bob"), 1)
    job = claim(world, failed[0])
    assert job is not None and job.version_id == failed[0]
    world.write(give_back_build, job.version_id, job.attempt, "w1", Failure("no-engine", "no engine answers"))
    assert built(world, iter(fresh), 1) == fresh
    assert claim(world, fresh[0]) is None
    job = claim(world, failed[0])
    assert job is not None and (job.version_id, job.attempt) == (failed[0], 2)


def test_a_build_that_is_handed_back_keeps_its_place(world: World) -> None:
    first, second = upload(world, world.author("ada"), 1)[0], upload(world, world.author("bob"), 1)[0]
    job = claim(world, first)
    assert job is not None and job.version_id == first
    world.clock.turn(60)
    world.write(give_back_build, first, job.attempt, "w1", Failure("worker-stopped", "why"))
    again = claim(world, second)
    assert again is not None and (again.version_id, again.waited_seconds) == (first, 60)


@pytest.mark.parametrize("nudged_id", [0, 10**6])
def test_a_message_about_nothing_builds_what_waits(world: World, nudged_id: int) -> None:
    assert claim(world, nudged_id) is None
    (waiting,) = upload(world, world.author("ada"), 1)
    job = claim(world, nudged_id)
    assert job is not None and (job.version_id, job.attempt) == (waiting, 1)
