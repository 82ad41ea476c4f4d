"""Games are found wherever they lie, and adding one takes only its folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deadheat import games
from deadheat.engine.check import NotConforming, check_game
from deadheat.engine.games.folder import SETTING, GameFolder, identities

ROOT = Path(__file__).resolve().parents[2]

GAME = """
from deadheat.engine.games.folder import GameFolder

class Rules:
    name = "{name}"
    title = "A Game"
    rules_version = {version}
    seats = range(2, 3)
    commands = ("READY",)
    def play(self, seats, chance):
        raise NotImplementedError

GAME = GameFolder(Rules(), __name__)
"""


def write(folder: Path, name: str = "a-game", version: object = 1, text: str = GAME) -> Path:
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(text.format(name=name, version=version))
    return folder


def found(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> games.Found:
    monkeypatch.setenv(SETTING, os.pathsep.join(map(str, paths)))
    before = set(sys.modules)
    try:
        return games.find()
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]


HOUSE = frozenset(games.find().games)


def test_a_setting_adds_a_folder_and_all_folders_in_another(monkeypatch, tmp_path) -> None:
    one = write(tmp_path / "one_game", "one-game")
    write(tmp_path / "many" / "second_game", "second-game")
    write(tmp_path / "many" / "third_game", "third-game")
    here = found(monkeypatch, one, tmp_path / "many")
    assert set(here.games) == HOUSE | {"one-game", "second-game", "third-game"}
    assert here.problems == ()


def test_an_installed_package_announces_its_game(monkeypatch, tmp_path) -> None:
    write(tmp_path / "installed_game", "installed-game")
    about = tmp_path / "installed_game-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-game\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[deadheat.games]\ninstalled-game = installed_game:GAME\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert set(found(monkeypatch).games) == HOUSE | {"installed-game"}
    both = found(monkeypatch, tmp_path / "installed_game")
    assert set(both.games) == HOUSE | {"installed-game"}
    assert both.problems == (), "one folder that is named twice is one game"


BROKEN = {
    "syntax": ("def", "SyntaxError"),
    "raises": ("raise OSError('no disk')", "no disk"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "none": ("", "no GAME"),
    "other": ("GAME = 3", "not a GameFolder"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_folder_is_said_and_the_others_go_on(monkeypatch, tmp_path, caplog, case) -> None:
    text, why = BROKEN[case]
    broken = write(tmp_path / f"broken_{case}", text=text)
    here = found(monkeypatch, broken, write(tmp_path / "whole_game", "whole-game"))
    assert set(here.games) == HOUSE | {"whole-game"}
    (problem,) = here.problems
    assert str(broken) in problem
    assert why in problem
    assert problem in caplog.text


@pytest.mark.parametrize("version", [0, -1, "'1'", True, 1.0, None])
def test_a_wrong_rules_version_is_said(monkeypatch, tmp_path, version) -> None:
    here = found(monkeypatch, write(tmp_path / "a_game", version=version))
    assert set(here.games) == HOUSE
    assert "rules_version" in here.problems[0]


def test_of_two_games_with_one_name_the_houses_or_the_first_stays_and_the_clash_is_said(monkeypatch, tmp_path) -> None:
    house = min(HOUSE)
    first, second = write(tmp_path / "first_game"), write(tmp_path / "second_game")
    here = found(monkeypatch, write(tmp_path / "like_ours", house), first, second)
    assert set(here.games) == HOUSE | {"a-game"}
    assert here.games[house].package.startswith("deadheat.games.")
    assert here.games["a-game"].package == "first_game"
    ours, theirs = here.problems
    assert f"the name {house} is taken" in ours
    assert str(second) in theirs
    assert str(first) in theirs


def test_a_folder_cannot_take_the_name_of_a_module(monkeypatch, tmp_path) -> None:
    here = found(monkeypatch, write(tmp_path / "json"), tmp_path / "nowhere", write(tmp_path / "not-a-name"))
    assert set(here.games) == HOUSE
    taken, missing, unspeakable = here.problems
    assert "module json is there already" in taken
    assert "nowhere" in missing
    assert "not-a-name" in unspeakable


def test_every_command_at_home_finds_it_too(tmp_path) -> None:
    write(tmp_path / "home_game", "home-game")
    code = "from deadheat.engine.games import GAMES; print(*GAMES)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, SETTING: str(tmp_path), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "home-game" in told.stdout.split()


def test_a_hash_is_of_names_and_contents_and_of_nothing_else(tmp_path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, names in ((one, ("b.py", "a.py", "web/board.js")), (other, ("web/board.js", "a.py", "b.py"))):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name)
    assert games.digest(one) == games.digest(other)
    (one / "__pycache__").mkdir()
    (one / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"cache")
    (one / ".hidden").write_text("an editor's")
    os.utime(one / "a.py", (0, 0))
    assert games.digest(one) == games.digest(other)
    before = games.digest(one)
    (one / "web" / "board.js").rename(one / "web" / "other.js")
    renamed = games.digest(one)
    (one / "a.py").write_text("changed")
    assert len({before, renamed, games.digest(one)}) == 3
    # A fixed value, because all machines must compute the same.
    assert games.digest(other) == "4e25033a6ec7cd5a152e23af94194ad8307d3e150de1703e55ba80818a4be2f1"


def test_every_game_here_has_an_identity() -> None:
    assert {game.name for game in identities()} == HOUSE
    assert all(len(game.digest) == 64 for game in identities())
    assert all(isinstance(game, GameFolder) for game in games.find().games.values())


PAGE = ROOT / "docs" / "how-to" / "add-a-game.md"
BLOCK = re.compile(r"(?:`([\w./-]+)`:\n\n)?```(python|diff|sh)\n(.*?)```", re.DOTALL)


def apply(diff: str, text: str) -> str:
    """Insert the lines with a plus behind the line above them, which must be there exactly once."""
    lines = text.splitlines()
    position = 0
    for line in diff.splitlines():
        if line.startswith("+"):
            lines.insert(position, line[1:])
            position += 1
        else:
            assert line.startswith(" "), line
            position = lines.index(line[1:], position) + 1
    return "\n".join(lines) + "\n"


def copy_of_the_project(folder: Path) -> Path:
    """Copy all committed and uncommitted files, with a `deadheat` command that starts from the copy."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and (file := ROOT / name).exists():
            compiled = (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc") if file.suffix == ".py" else ()
            for each in (file, *compiled):  # with their times, which show that a compiled file is current
                copy = folder / each.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(each, copy, follow_symlinks=False)
    command = folder / "bin" / "deadheat"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from deadheat.cli.main import app; app()" "$@"\n')
    command.chmod(0o755)
    return folder


def run(commands: str, folder: Path) -> str:
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{folder}/src", "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_adds_a_game_in_less_than_150_lines(tmp_path: Path) -> None:
    folder = copy_of_the_project(tmp_path / "project")
    lines = 0
    outputs = []
    for name, language, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "sh":
            outputs.append(run(block, folder))
            continue
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(apply(block, file.read_text(encoding="utf-8")) if language == "diff" else block)
        lines += sum(bool(line.strip()) for line in block.splitlines())
    check, match, rules = outputs
    assert "2 passed" in check
    assert "high-card" in match
    assert "20 passed" in rules
    assert 0 < lines < 150
    changed = "games/high_card/rules.py games/high_card/__init__.py"
    run(f"ruff check --no-cache {changed} && ruff format --no-cache --check {changed}", folder)


BOTH_HANDS = """
            self.notices.append(Message(1 - seat, " ".join(["ALSO", *map(str, hand)])))
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('self.events.append({"type": "trick", "cards": list(cards)})', "", id="no event of the trick"),
        pytest.param(
            "        for _ in range(CARDS):\n", f"{BOTH_HANDS}        for _ in range(CARDS):\n", id="both hands"
        ),
    ],
)
def test_what_the_page_says_to_try_is_found(old: str, new: str) -> None:
    blocks = {name: block for name, _, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if name}
    rules = blocks["games/high_card/rules.py"]
    assert old in rules
    bot = loaded("high_card_bot", blocks["games/high_card/bots/random/main.py"]).Bot
    check_game(loaded("high_card", rules).HighCard(), bot)
    with pytest.raises(NotConforming, match="a leak, or an event"):
        check_game(loaded("high_card", rules.replace(old, new)).HighCard(), bot)


def loaded(name: str, source: str) -> Any:
    module = ModuleType(name)
    exec(source, module.__dict__)
    return module
