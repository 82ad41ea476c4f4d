"""Several bots are built at the same time, in their order, and where there is no free processor, one by one."""

import signal
import time
from collections.abc import Callable
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


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADHEAT_LOCK_DIR", str(tmp_path / "locks"))
    if len(own_processors()) < 2:
        pytest.skip("this process may use one processor only")


def build(monkeypatch: pytest.MonkeyPatch, prepare: Callable[..., Program], folder: Path, *names: str) -> list[object]:
    monkeypatch.setattr(builds, "prepare", prepare)
    return list(builds.prepare_all(GAMES[GAME], names, LocalSandbox(), folder))


def meeting(_game: Game, name: str, _sandbox: Sandbox, folder: Path) -> Program:
    """Return as soon as another build is under way, too."""
    (folder.parent / f"{name}.here").touch()
    end = time.monotonic() + LONGEST_SECONDS
    while len(list(folder.parent.glob("*.here"))) < 2:
        assert time.monotonic() < end, f"{name} is built alone"
        time.sleep(0.01)
    return Program(folder, (name,), name)


def test_bots_are_built_at_the_same_time_and_named_in_their_order(tmp_path: Path, monkeypatch) -> None:
    found = build(monkeypatch, meeting, tmp_path, "a", "b", "c")
    assert [program.label for program in found if isinstance(program, Program)] == ["a", "b", "c"]
    hold = Processors(locks_folder()).some(len(own_processors()), own_processors())
    assert hold is not None, "the processors are free again"
    hold.close()


def test_without_a_free_processor_they_are_built_one_by_one(tmp_path: Path, monkeypatch) -> None:
    here: list[str] = []

    def alone(_game: Game, name: str, _sandbox: Sandbox, folder: Path) -> Program:
        here.append(name)  # of this process
        return Program(folder, (name,), name)

    with Processors(locks_folder()).take(len(own_processors()) - 1, own_processors()):
        build(monkeypatch, alone, tmp_path, "a", "b")
    assert here == ["a", "b"]


def test_a_bot_that_does_not_build_keeps_no_other_from_it(tmp_path: Path, monkeypatch) -> None:
    def broken(_game: Game, name: str, _sandbox: Sandbox, folder: Path) -> Program:
        if name == "broken":
            raise BadBot("broken does not build", "its log")
        return Program(folder, (name,), name)

    first, second = build(monkeypatch, broken, tmp_path, "broken", "sound")
    assert isinstance(first, BadBot) and (str(first), first.log) == ("broken does not build", "its log")
    assert isinstance(second, Program)
    with pytest.raises(BadBot, match="broken does not build"):
        list(builds.built(GAMES[GAME], ["sound", "broken"], LocalSandbox(), tmp_path))


def test_a_failure_of_this_machine_is_no_bots(tmp_path: Path, monkeypatch) -> None:
    def failing(_game: Game, name: str, _sandbox: Sandbox, folder: Path) -> Program:
        raise SandboxError("host", f"no room for {name}")

    with pytest.raises(SandboxError, match="no room for a"):
        build(monkeypatch, failing, tmp_path, "a", "b")


def test_ctrl_c_is_for_the_process_that_waits(tmp_path: Path, monkeypatch) -> None:
    def handled(_game: Game, name: str, _sandbox: Sandbox, folder: Path) -> Program:
        return Program(folder, (str(signal.getsignal(signal.SIGINT) is signal.SIG_IGN),), name)

    found = build(monkeypatch, handled, tmp_path, "a", "b")
    assert [program.command for program in found if isinstance(program, Program)] == [("True",), ("True",)]
