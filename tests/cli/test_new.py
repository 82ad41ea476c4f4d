"""`deadheat new`: starters that play legally at once, in every language."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from cli.new import STARTERS, Language
from engine.games import GAMES
from sandbox.languages import LANGUAGES
from tests.cli.command import GAME, invoke, play

COMPILERS = {"c": "gcc", "cpp": "g++"}


def new(folder: Path, game: str = GAME, language: str = "python") -> list[str]:
    done = invoke("new", game, "--language", language, "--folder", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("language", STARTERS)
@pytest.mark.parametrize("game", GAMES)
def test_a_starter_builds_and_plays_without_a_fault(game: str, language: str, tmp_path: Path) -> None:
    if language in COMPILERS and not shutil.which(COMPILERS[language]):
        pytest.skip(f"there is no {COMPILERS[language]} here")
    new(tmp_path / "bot", game, language)
    done = play(str(tmp_path / "bot"), "house:random", game=game, options=["--matches", "5", "--seed", "1", "--json"])
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert summary["matches"] == 5
    assert [bot["faults"] for bot in summary["bots"]] == [{}, {}]


def test_every_starter_is_of_a_language_that_is_built() -> None:
    assert set(STARTERS) == set(Language) <= set(LANGUAGES)


def test_the_commands_to_type_next_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("new", GAME, "--language", "cpp")
    assert done.stdout.startswith(f"Wrote {GAME}-bot/main.cpp. ")
    commands = [shlex.split(line)[1:] for line in done.stdout.splitlines() if line.startswith("  ") and "#" not in line]
    assert ["play", GAME, f"{GAME}-bot", "house:random"] in commands
    assert ["submit", f"{GAME}-bot", "--game", GAME, "--name", "my-bot", "--season", "1"] in commands
    (guide,) = (Path(path) for path, *more in commands if path.endswith(".md"))
    assert guide.is_file()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    new(tmp_path)
    (tmp_path / "main.py").write_text("mine\n")
    for language in ("python", "c", "cpp"):
        done = invoke("new", GAME, "--language", language, "--folder", str(tmp_path))
        assert done.returncode == 2
        assert "nothing was written" in done.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("main.py", "mine\n")]


def test_a_folder_may_hold_other_things(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    new(tmp_path, language="c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "main.c"]
