"""Shell completion is generated, and completes; and the command starts without what most verbs do not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ROOT, deadheat


def script(shell: str) -> str:
    done = deadheat("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_is_printed(shell: str) -> None:
    assert f"_DEADHEAT_COMPLETE=complete_{shell}" in script(shell)


@pytest.mark.parametrize(
    ("words", "found"), [("wat", "watch"), ("submit --no", "--no-wait"), ("team hand", "hand-over")]
)
def test_bash_completes(tmp_path: Path, words: str, found: str) -> None:
    command = tmp_path / "deadheat"
    command.write_text(f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m deadheat.cli.main "$@"\n')
    command.chmod(0o755)
    count = len(words.split())
    asked = f"COMP_WORDS=(deadheat {words}) COMP_CWORD={count}; _deadheat_completion deadheat; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", f"{script('bash')}\n{asked}"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found in done.stdout.split(), done.stderr


def test_no_command_waits_for_a_library_that_it_does_not_need() -> None:
    """Half a second each; a key pressed for a completion would wait for all of them."""
    heavy = {"alembic", "celery", "docker", "fastapi", "numpy", "scipy", "sqlalchemy", "sqlmodel", "uvicorn"}
    asked = (
        f"import sys, deadheat.cli.main; print(sorted({heavy} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
