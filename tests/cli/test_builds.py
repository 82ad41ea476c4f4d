"""Several bots are built at the same time, in their order, and where there is no free processor, one by one."""

import signal
import time
from pathlib import Path

import pytest

from deadheat.cli.local import builds
from deadheat.cli.local.bots import BadBot
from deadheat.cli.local.reserve import locks_folder, own_processors
from deadheat.engine.core import Game
from deadheat.engine.games import GAMES
from deadheat.sandbox.box import Program, Sandbox, SandboxError
from deadheat.sandbox.host.slots import Processors
from deadheat.sandbox.local import LocalSandbox
from tests.cli.command import GAME

LONGEST_SECONDS = 30


def prepare(_game: Game, name: str, _sandbox: Sandbox, folder: Path) -> Program:
    """Build nothing; a bot that meets waits until two builds are under way."""
    if name == "broken":
        raise BadBot("broken does not build", "its log")
    if name == "failing":
        raise SandboxError("host", "no room for failing")
    end = time.monotonic() + LONGEST_SECONDS
    folder.parent.mkdir(exist_ok=True)
    (folder.parent / f"{name}.here").touch()
    while "meets" in name and len(list(folder.parent.glob("*.here"))) < 2:
        assert time.monotonic() < end, f"{name} is built alone"
        time.sleep(0.01)
    forked = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # Ctrl-C is for the process that waits
    return Program(folder, ("forked" if forked else "here",), name)


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "prepare", prepare)
    monkeypatch.setenv("DEADHEAT_LOCK_DIR", str(tmp_path / "locks"))
    if len(own_processors()) < 2:
        pytest.skip("this process may use one processor only")


def made(folder: Path, *names: str) -> list[tuple[str, ...]]:
    """Build these bots; return what became of each."""
    programs = builds.prepare_all(GAMES[GAME], names, LocalSandbox(), folder)
    return [(each.label, *each.command) if isinstance(each, Program) else (str(each), each.log) for each in programs]


def test_bots_are_built_at_the_same_time_and_named_in_their_order(tmp_path: Path) -> None:
    found = made(tmp_path, "meets 1", "meets 2", "broken", "sound")
    expected = [("meets 1", "forked"), ("meets 2", "forked"), ("broken does not build", "its log")]
    assert found == [*expected, ("sound", "forked")]
    with Processors(locks_folder()).take(len(own_processors()) - 1, own_processors()):
        assert made(tmp_path / "alone", "sound", "sound") == [("sound", "here")] * 2, "one processor is free"


def test_who_failed_is_said(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no room for failing"):
        made(tmp_path, "sound", "failing")
    with pytest.raises(BadBot, match="broken does not build"):
        list(builds.built(GAMES[GAME], ["sound", "broken"], LocalSandbox(), tmp_path))
