"""docs/adding-a-game.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deadheat.engine.check import NotConforming, check_game

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "adding-a-game.md"
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
    """Run a block of commands, which must succeed."""
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
    with pytest.raises(NotConforming, match="a leak, or an event is missing"):
        check_game(loaded("high_card", rules.replace(old, new)).HighCard(), bot)


def loaded(name: str, source: str) -> Any:
    module = ModuleType(name)
    exec(source, module.__dict__)
    return module
