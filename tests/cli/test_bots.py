"""How a bot that an author names becomes a program on that machine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import cast

from deadheat.cli.local import bots
from deadheat.engine.games import GAMES
from deadheat.sandbox.box import Sandbox
from deadheat.sandbox.languages import LANGUAGES
from deadheat.sandbox.local import LocalSandbox
from tests.cli.command import GAME, RANDOM


def test_a_plain_program_is_run_by_the_authors_python_where_the_system_has_none(tmp_path: Path, monkeypatch) -> None:
    missing = LANGUAGES["python"].started_by("/nowhere/python 3")
    monkeypatch.setattr(bots, "LANGUAGES", {**LANGUAGES, "python": missing})
    program = bots.prepare(GAMES[GAME], str(RANDOM), LocalSandbox(), tmp_path / "bot")
    assert program.command == (shutil.which("python3"), "main.py")
    confined = cast(Sandbox, object())  # finds only what is in /usr
    assert bots._as_here(missing, confined) == missing
