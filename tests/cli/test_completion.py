"""Shell completion is generated, and completes; the command starts without what most verbs do not need."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from deadheat.cli.main import PANELS
from tests.cli.command import ROOT, deadheat, succeeded


@cache
def script(shell: str) -> str:
    return succeeded(deadheat("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")).stdout


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


def brought_by(program: str) -> set[str]:
    """Run a Python program, and return the modules that it imported."""
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_waits_for_no_library_that_it_does_not_need() -> None:
    """Each library takes a tenth of a second or more, and every completion would wait for all."""
    brought = brought_by("from typer.testing import CliRunner as C; from deadheat.cli.main import app; C().invoke(app)")
    assert {"typer", "deadheat.cli.main"} <= brought
    assert not brought & {"alembic", "celery", "docker", "numpy", "pydantic", "scipy", "sqlalchemy", "urllib3"}
    assert {name for name in brought if name.startswith("deadheat.")} <= {
        *("deadheat.cli", "deadheat.cli.main", "deadheat.cli.console"),
        *("deadheat.cli.server", "deadheat.cli.server.profiles"),
    }


def test_authors_commands_wait_for_no_library_of_servers() -> None:
    names = [name for panel, verbs in PANELS.items() if panel != "Running a server" for name in verbs]
    brought = brought_by(f"from deadheat.cli.main import load; print([load(name) for name in {names}])")
    assert {"urllib3", "deadheat.cli.local.play"} <= brought
    heavy = {"alembic", "celery", "docker", "fastapi", "httpx", "obstore", "platformdirs"}
    heavy |= {"pydantic_settings", "scipy", "sqlalchemy", "sqlmodel", "uvicorn", "zstandard"}
    assert not brought & heavy


def test_importing_the_library_brings_nothing_until_it_is_used() -> None:
    brought = brought_by("import deadheat")
    assert not {name for name in brought if name.startswith("deadheat.")} | brought & {"urllib3", "pydantic"}
    brought = brought_by("import deadheat; deadheat.Client")
    assert "urllib3" in brought and "deadheat.league.terms" not in brought
