"""Building and trying uploads in containers: which versions become ready, and which are broken and why."""

import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.engine.core import NS_PER_S, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.replay import replay
from deadheat.engine.transcript import Transcript
from deadheat.league.service.jobs.builds import GIVEN_UP, MOST_STARVED
from deadheat.league.service.series.hosts import record_check
from deadheat.league.states import VersionState
from deadheat.sandbox.arena import Arena, Played
from deadheat.sandbox.languages import LANGUAGES
from deadheat.workers import build
from deadheat.workers.build import build_version
from tests.league.ground import settings
from tests.league.people import GAME
from tests.workers.building import BuildingWorld, zipped

pytestmark = pytest.mark.containers

RANDOM = (bots_of(GAME) / "random" / "main.py").read_text()


@pytest.fixture
def world(tmp_path: Path, unhurried: None) -> Iterator[BuildingWorld]:
    made = BuildingWorld(settings(tmp_path))
    yield made
    made.close()


def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the limit of READY, so that it is over soon however little of a processor a bot gets."""
    monkeypatch.setattr("deadheat.engine.games.duel.READY_LIMIT_NS", NS_PER_S)


def test_a_single_python_file_becomes_ready(world: BuildingWorld) -> None:
    version = world.built("mine.py", RANDOM)
    assert (version.state, version.reason) == (VersionState.READY, "")
    assert version.program_sha256 is not None
    assert world.left_behind() == []
    build_version(world.context, version.id)
    assert world.built_version(version.id).attempt == 1, "a second message builds nothing again"


def test_a_zip_of_several_c_files_becomes_ready(world: BuildingWorld) -> None:
    folder = bots_of(GAME) / "counter"
    version = world.built("bot.zip", zipped({path.name: path.read_text() for path in folder.iterdir()}))
    assert (version.state, version.language, version.reason) == (VersionState.READY, "c", "")


def test_a_named_entry_in_a_folder_is_what_starts(world: BuildingWorld) -> None:
    manifest = 'language = "python"\nentry = "src/player.py"\n'
    version = world.built("bot.zip", zipped({"deadheat.toml": manifest, "src/player.py": RANDOM}))
    assert (version.state, version.reason) == (VersionState.READY, "")


@pytest.mark.parametrize(
    ("filename", "content", "reason", "log"),
    [
        ("bot.py", "def broken(:\n", "the build command failed with exit code 1", "SyntaxError"),
        ("bot.c", "int main(void) { return nonsense; }", "the build command failed with exit code 1", "nonsense"),
        ("bot.py", "print(1/0)", "the trial match ended with exited at READY", "ZeroDivisionError"),
        ("bot.py", "print('HELLO')\ninput()\ninput()", "the trial match ended with", "<< READY"),
        ("bot.py", "import time\ntime.sleep(9)", "the trial match ended with timeout at READY", "(timeout)"),
        ("bot.py", "input()\nx = b'x' * 2**31", "the trial match ended with memory at READY", "READY"),
        ("bot.c", "int main(void) { for (;;); }", "the trial match ended with timeout at READY", "(timeout)"),
    ],
)
def test_what_the_author_did_wrong_is_said(world: BuildingWorld, filename, content, reason, log, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.sandbox.box.BOT_MEMORY_BYTES", 128 * 2**20)  # soon full, even on a slow machine
    if "timeout" in reason:
        soon_over(monkeypatch)
    version = world.built(filename, content)
    assert version.state is VersionState.BROKEN and version.reason.startswith(reason) and log in version.log


def test_what_does_not_compile_is_refused_while_every_slot_is_taken(
    world: BuildingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took 103 s, until a match had ended. What compiles waits for its trial match."""
    monkeypatch.setattr("deadheat.sandbox.host.slots.ROOM_BYTES", 0)
    slots = world.context.slots
    with contextlib.ExitStack() as held, ThreadPoolExecutor(1) as pool:
        for _ in slots.slots:
            held.enter_context(slots.take())
        version = world.built("bot.py", "def broken(:\n")
        assert (version.state, version.reason) == (VersionState.BROKEN, "the build command failed with exit code 1")
        good = world.add("bot.py", RANDOM.encode())
        building = pool.submit(build_version, world.context, good)
        held.close()
        building.result()
    assert world.built_version(good).state is VersionState.READY


def test_a_build_that_leaves_a_link_behind_is_refused(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    tampered = {**LANGUAGES, "python": replace(LANGUAGES["python"], build="ln -s / x")}
    monkeypatch.setattr(build, "LANGUAGES", tampered)
    version = world.built("bot.py", RANDOM)
    assert version.state is VersionState.BROKEN and "cannot be used" in version.reason


def test_our_own_failure_puts_the_version_back(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    version_id = world.add("bot.py", RANDOM.encode())
    monkeypatch.setattr(build, "extract_upload", lambda *_: 1 / 0)
    build_version(world.context, version_id)
    assert world.built_version(version_id).state is VersionState.UPLOADED
    assert world.causes(version_id) == ["ZeroDivisionError"]
    monkeypatch.undo()
    build_version(world.context, version_id)
    assert world.built_version(version_id).state is VersionState.READY


LIARS = bots_of("liars-dice")

TWO_ONLY = """
import json, sys
for line in sys.stdin:
    if line.strip() == "READY":
        print("OK", flush=True)
    elif line.startswith("{") and "event" not in json.loads(line):
        if len(json.loads(line)["opponents"]) > 1:
            sys.exit("I know duels only")
        print('{"type": "resign"}', flush=True)
"""


def trial(world: BuildingWorld, version_id: int) -> Transcript:
    return world.transcript(world.built_version(version_id).trial_sha256)


def test_qualification_is_played_at_the_smallest_table_and_at_the_largest(world: BuildingWorld) -> None:
    version = world.built("bot.py", (LIARS / "random" / "main.py").read_text(), "liars-dice")
    assert (version.state, version.reason) == (VersionState.READY, "")
    transcript = trial(world, version.id)
    assert (transcript.seats, transcript.about["players"]) == (6, ["house:random"] * 5 + [f"version {version.id}"])
    replay(GAMES["liars-dice"], transcript)


def test_a_bot_that_knows_small_tables_only_does_not_qualify(world: BuildingWorld) -> None:
    version = world.built("bot.py", TWO_ONLY, "liars-dice")
    assert version.state is VersionState.BROKEN
    assert version.reason.startswith("the trial match at a table of 6")
    assert "I know duels only" in version.log
    assert 5 in trial(world, version.id).result.faults


def test_the_transcript_of_a_failed_qualification_is_kept_for_its_author(world: BuildingWorld) -> None:
    version = world.built("bot.py", "input()\nprint('HELLO')\ninput()")
    assert version.state is VersionState.BROKEN
    assert version.reason.startswith("the trial match ended with malformed at READY") and "HELLO" in version.log
    (prompt,) = [prompt for prompt in trial(world, version.id).prompts() if prompt.message.seat == 0]
    assert (prompt.message.line, prompt.reply.line) == ("READY", "HELLO")


def test_nobody_is_slow_on_a_machine_that_is_known_to_be_unfit(world: BuildingWorld, monkeypatch) -> None:
    soon_over(monkeypatch)
    world.write(record_check, world.host, {}, ("Its clock is not to be trusted.",), 60)
    version_id = world.add("bot.py", b"import time\ntime.sleep(9)")
    build_version(world.context, version_id)
    version = world.built_version(version_id)
    assert (version.state, world.causes(version_id)) == (VersionState.UPLOADED, ["host-unfit"])
    assert "Its clock is not to be trusted." in version.reason
    world.write(record_check, world.host, {}, (), 0)
    build_version(world.context, version_id)
    assert world.built_version(version_id).state is VersionState.BROKEN


def test_a_build_that_is_starved_again_and_again_is_given_up(world: BuildingWorld, monkeypatch) -> None:
    """Else one that makes itself wait would hold a slot for ever. Its author may upload it again."""

    def starved(*_: Any, **__: Any) -> None:
        raise TransportError("host-starved", "a build got almost no processor time")

    monkeypatch.setattr(build, "build", starved)
    version_id = world.add("bot.py", RANDOM.encode())
    for attempt in range(1, MOST_STARVED + 1):
        assert world.built_version(version_id).state is VersionState.UPLOADED, attempt
        build_version(world.context, version_id)
    version = world.built_version(version_id)
    assert (version.state, version.reason) == (VersionState.BROKEN, GIVEN_UP)
    assert world.causes(version_id) == ["host-starved"] * MOST_STARVED


def test_a_void_qualification_breaks_nothing_and_is_played_again(world: BuildingWorld, monkeypatch, caplog) -> None:
    play, tries = Arena.play, []

    def spoiled(self: Arena, *arguments: Any) -> Played:
        tries.append(self)
        if len(tries) <= build.TRIAL_ATTEMPTS + 1:
            raise TransportError("host-starved", "for the test")
        return play(self, *arguments)

    monkeypatch.setattr(Arena, "play", spoiled)
    version_id = world.add("bot.py", RANDOM.encode())
    build_version(world.context, version_id)
    assert world.built_version(version_id).state is VersionState.UPLOADED
    assert world.causes(version_id) == ["host-starved"]
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert {record.levelno for record in told} == {logging.WARNING}, "no operator need act"
    assert f"version {version_id} attempt 1" in told[-1].getMessage() and "host-starved" in told[-1].getMessage()
    assert not any(record.exc_info for record in told)
    build_version(world.context, version_id)
    assert world.built_version(version_id).state is VersionState.READY
