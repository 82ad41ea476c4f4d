"""The operators' page, followed to the letter on a new deployment of one machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.cli.command import ROOT
from tests.docs.console import Terminal, steps
from tests.docs.test_commands import ADDRESS, follow


def test_the_operators_page_can_be_followed_to_the_letter(tmp_path: Path) -> None:
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    folder.mkdir()
    (programs / "deadheat").write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}/src" exec "{sys.executable}" -m deadheat.cli.main "$@"\n'
    )
    (programs / "deadheat").chmod(0o755)
    todo = steps((ROOT / "docs" / "operators.md").read_text(encoding="utf-8"))
    verbs = {step.command.split()[1] for step in todo}
    assert {"upgrade", "doctor", "backup", "restore"} <= verbs
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    terminal = Terminal(folder, environment | {"DEADHEAT_DATA_DIR": str(tmp_path / "data")})
    try:
        for step in todo:
            follow(terminal, step, {ADDRESS: ADDRESS})
    finally:
        terminal.close()
