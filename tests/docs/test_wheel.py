"""The authors' page followed with nothing but the wheel, by an ordinary user on a machine without an engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.docs.console import Terminal, steps
from tests.docs.test_commands import follow, league

__all__ = ["league"]  # a fixture

NOBODY = 65534
MOST_DISTRIBUTIONS = 15
"""What an author's install may bring, `deadheat` itself not counted."""

pytestmark = pytest.mark.all


def run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """A folder that everybody can read, with the wheel in an environment of its own, `env`."""
    folder = Path(tempfile.mkdtemp(prefix="deadheat-wheel-"))
    folder.chmod(0o755)
    try:
        run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
        python = "/usr/bin/python3" if os.geteuid() == 0 else sys.executable  # others may not be able to run root's own
        run(python, "-m", "venv", "--without-pip", str(folder / "env"))
        locked = re.findall(r"^(\S+==\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
        (folder / "versions").write_text("\n".join(locked))
        (wheel,) = folder.glob("*.whl")
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "env"), "install", "--only-binary", ":all:"]
        run(*pip, "--constraint", str(folder / "versions"), str(wheel))
        yield folder
    finally:
        shutil.rmtree(folder)


def test_it_brings_little(installed: Path) -> None:
    found = run(sys.executable, "-m", "pip", "--python", str(installed / "env"), "list", "--format", "freeze").split()
    assert len(found) - 1 <= MOST_DISTRIBUTIONS, found


def test_the_authors_page_can_be_followed_with_the_wheel_alone(installed: Path, league: dict[str, str]) -> None:
    programs, folder = installed / "bin", installed / "work"
    programs.mkdir()
    folder.mkdir()
    user = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups" if os.geteuid() == 0 else ""
    if user:
        os.chown(folder, NOBODY, NOBODY)
    (programs / "deadheat").write_text(f'#!/bin/sh\nexec {user} "{installed}/env/bin/deadheat" "$@"\n')
    (programs / "deadheat").chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
        "DOCKER_HOST": f"unix://{installed}/no-engine",
    }
    terminal = Terminal(folder, environment)
    try:
        for step in steps((ROOT / "docs" / "authors.md").read_text(encoding="utf-8")):
            follow(terminal, step, league)
    finally:
        terminal.close()
