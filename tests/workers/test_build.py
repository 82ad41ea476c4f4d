"""Building and trying uploads in real containers: what becomes ready, what is broken and why, and what is our fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from league.states import VersionState
from sandbox.languages import LANGUAGES
from tests.league.world import GAME, settings
from tests.workers.building import BuildingWorld, zipped
from workers import build
from workers.build import build_version
from workers.context import BOTS

pytestmark = pytest.mark.containers

RANDOM = (BOTS / GAME / "random" / "main.py").read_text()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BuildingWorld]:
    made = BuildingWorld(settings(tmp_path))
    yield made
    made.close()


def test_a_single_python_file_becomes_ready(world: BuildingWorld) -> None:
    version = world.built("mine.py", RANDOM)
    assert (version.state, version.reason) == (VersionState.READY, "")
    assert version.program_sha256 is not None
    assert [path for path in world.context.run_dir.iterdir() if path.name != "slots"] == []


def test_a_zip_of_several_c_files_becomes_ready(world: BuildingWorld) -> None:
    folder = BOTS / GAME / "counter"
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
        ("bot.py", "input()\nprint('HELLO')\ninput()", "the trial match ended with malformed at READY", "HELLO"),
        ("bot.py", "import time\ntime.sleep(9)", "the trial match ended with timeout at READY", "(timeout)"),
        (
            "bot.py",
            "input()\nx = b'x' * 2**31\nprint('OK', flush=True)",
            "the trial match ended with memory at READY",
            "READY",
        ),
        (
            "bot.c",
            "int main(void) { for (;;); }",
            "the trial match ended with timeout at READY",
            "(timeout)",
        ),
    ],
)
def test_what_the_author_did_wrong_is_said(
    world: BuildingWorld, filename: str, content: str, reason: str, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.box.BOT_MEMORY_BYTES", 128 * 2**20)  # soon full, even on a slow machine
    version = world.built(filename, content)
    assert version.state is VersionState.BROKEN
    assert version.reason.startswith(reason)
    assert log in version.log


def test_an_endless_build_is_cut_off(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.build.BUILD_SECONDS", 3)
    version = world.built("bot.c", '#include "/dev/zero"\nint main(void) { return 0; }')
    assert version.state is VersionState.BROKEN
    assert version.reason  # out of time or out of memory, whichever comes first


def test_a_build_that_leaves_a_link_behind_is_refused(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    tampered = {**LANGUAGES, "python": replace(LANGUAGES["python"], build="ln -s / x")}
    monkeypatch.setattr(build, "LANGUAGES", tampered)
    version = world.built("bot.py", RANDOM)
    assert version.state is VersionState.BROKEN
    assert "cannot be used" in version.reason


def test_our_own_failure_puts_the_version_back(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    version_id = world.add("bot.py", RANDOM.encode())
    monkeypatch.setattr(build, "extract_upload", lambda *_: 1 / 0)
    build_version(world.context, version_id)
    assert world.version(version_id).state is VersionState.UPLOADED
    assert world.causes(version_id) == ["ZeroDivisionError"]
    monkeypatch.undo()
    build_version(world.context, version_id)
    assert world.version(version_id).state is VersionState.READY


def test_a_second_message_builds_nothing_again(world: BuildingWorld) -> None:
    version = world.built("bot.py", RANDOM)
    build_version(world.context, version.id)
    assert world.version(version.id).attempt == 1
