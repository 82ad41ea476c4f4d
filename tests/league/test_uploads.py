"""Uploads: what is taken, how many, and whose are built first."""

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlmodel import Session, select

from deadheat.league import errors
from deadheat.league.blobs import Blobs
from deadheat.league.errors import BadUpload
from deadheat.league.jobs import Failure
from deadheat.league.service.bots import bots as league_bots
from deadheat.league.service.bots.bots import Upload, accept, create_bot, may_upload
from deadheat.league.service.jobs.builds import BuildJob, BuildOutcome, claim_next_build, finish_build, give_back_build
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.entries import enter
from deadheat.league.states import SeasonState
from deadheat.league.tables import BotVersion
from tests.league.ground import settings
from tests.league.people import GAME, SHA
from tests.league.world import World


def send(content: bytes, filename: str, tmp_path: Path) -> Upload:
    return accept(io.BytesIO(content), filename, "", settings(tmp_path), Blobs("memory:///"))


def zipped(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return made.getvalue()


def test_a_source_file_and_an_archive_are_taken(tmp_path: Path) -> None:
    file = send(b"print()", "bot.py", tmp_path)
    assert (file.language, file.entry, file.size_bytes) == ("python", "main.py", 7)
    archive = send(zipped(main_c="int main;", board_h=""), "bot.zip", tmp_path)
    assert (archive.language, archive.entry) == ("c", "main.c")


@pytest.mark.parametrize(
    ("content", "filename", "reason"),
    [
        (b"", "bot.py", "empty"),
        (b"x", "bot", "unknown-language"),
        (b"x", "bot.rb", "unknown-language"),
        (b"x", "bot.zip", "not-an-archive"),
        (zipped(readme_txt=""), "bot.zip", "no-entry"),
        (b"\x7fELF\0\0", "bot.py", "not-text"),
        (b"x", "../bot.py", "bad-name"),
        (b"x", ".py", "bad-name"),
        (b"x", "bot\n.py", "bad-name"),
        (b"x", "b\u00f6t.py", "bad-name"),
        (b"x", "", "bad-name"),
        (b"x", "b" * 200 + ".py", "bad-name"),
    ],
)
def test_what_cannot_become_a_bot_is_refused(content: bytes, filename: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadUpload) as caught:
        send(content, filename, tmp_path)
    assert caught.value.reason == reason


@pytest.fixture
def limited(tmp_path: Path, database_url: str) -> Iterator[World]:
    made = World(settings(tmp_path, database_url=database_url, uploads_per_hour=3, versions_per_day=4))
    yield made
    made.close()


def test_an_hour_after_the_first_upload_the_next_is_taken(limited: World) -> None:
    owner, bot_id = limited.bot()
    limited.clock.turn(600)
    limited.upload(owner, bot_id)
    limited.read(may_upload, owner, bot_id)
    limited.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota):
        limited.read(may_upload, owner, bot_id)
    with pytest.raises(errors.OverQuota, match="limit is 3 an hour") as caught:
        limited.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 3000
    limited.clock.turn(2999.5)
    with pytest.raises(errors.OverQuota) as caught:
        limited.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 1
    limited.clock.turn(0.5)
    limited.upload(owner, bot_id)


def test_a_season_may_be_stricter_for_those_who_take_part(limited: World) -> None:
    season_id = limited.season(0, versions_per_day=1, uploads_per_hour=2)
    owner, bot_id = limited.bot()
    outside = limited.author()
    _, other = limited.bot(owner=outside)
    limited.write(enter, owner, season_id, bot_id)
    with pytest.raises(errors.OverQuota, match="for season 1: the limit is 1") as caught:
        limited.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 24 * 3600
    limited.upload(outside, other)
    limited.clock.turn(24 * 3600)
    limited.upload(owner, bot_id)


def test_a_season_that_takes_no_more_versions_asks_for_no_quota(limited: World) -> None:
    season_id = limited.season(0, versions_per_day=1)
    owner, bot_id = limited.entrant(season_id)
    limited.set_state(season_id, SeasonState.FROZEN)
    limited.upload(owner, bot_id)


def add_version(who: Person, bot_id: int) -> Callable[[Session], object]:
    return lambda session: league_bots.add_version(session, who, bot_id, Upload("bot.py", 10, SHA, "python", "main.py"))


@pytest.mark.databases
def test_an_author_who_uploads_for_two_bots_at_once_is_over_the_quota(limited: World) -> None:
    owner = limited.author()
    bots = [limited.bot(owner=owner)[1] for _ in range(2)]
    with pytest.raises(errors.OverQuota, match="by one author"):
        limited.at_once(add_version(owner, bots[0]), add_version(owner, bots[1]))


@pytest.mark.databases
def test_two_members_who_upload_one_bot_at_once_are_over_its_quota(limited: World) -> None:
    ada, bob = limited.author(), limited.author()
    bot_id = limited.write(create_bot, ada, GAME, "shared", limited.team(ada, bob)).id
    for _ in range(3):
        limited.upload(ada, bot_id)
    limited.clock.turn(3600)
    with pytest.raises(errors.OverQuota, match="versions of one bot"):
        limited.at_once(add_version(ada, bot_id), add_version(bob, bot_id))


def test_a_season_may_limit_uploads_in_five_minutes(limited: World) -> None:
    owner, bot_id = limited.entrant(limited.season(0, uploads_per_five_minutes=1))
    with pytest.raises(errors.OverQuota, match="try again in 5 minutes"):
        limited.upload(owner, bot_id)
    limited.clock.turn(300)
    limited.upload(owner, bot_id)


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


def test_a_bot_has_only_so_many_versions_a_day(limited: World) -> None:
    owner, bot_id = limited.bot()
    for _ in range(3):
        limited.clock.turn(3600)
        limited.upload(owner, bot_id)
    with pytest.raises(errors.OverQuota, match="the limit is 4 a day") as caught:
        limited.upload(owner, bot_id)
    assert caught.value.retry_after_seconds == 21 * 3600
    _, other = limited.bot(owner=owner)  # another bot of the same owner has its own quota
    assert other != bot_id
