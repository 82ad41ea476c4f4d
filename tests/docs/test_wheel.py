"""The authors' pages, followed with the wheel alone by an ordinary user on a machine without an engine."""

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
from tests.docs.console import follow, steps, terminal
from tests.docs.test_commands import AUTHORS, league

__all__ = ["league"]  # a fixture

NOBODY = 65534
MOST_DISTRIBUTIONS = 15
"""How many distributions an author's install may bring besides `deadheat`."""

pytestmark = pytest.mark.all


def run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """A folder that all can read, with the wheel installed in its environment `env`."""
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


def test_it_brings_its_licence(installed: Path) -> None:
    (licence,) = installed.glob("env/lib/*/site-packages/deadheat-*.dist-info/licenses/LICENSE")
    assert licence.read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_authors_pages_can_be_followed_with_the_wheel_alone(installed: Path, league: dict[str, str]) -> None:
    user = ""
    if os.geteuid() == 0:
        (installed / "work").mkdir()
        os.chown(installed / "work", NOBODY, NOBODY)
        user = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups"
    programs = {"deadheat": f'exec {user} "{installed}/env/bin/deadheat"'}
    with terminal(installed, programs, DOCKER_HOST=f"unix://{installed}/no-engine") as reader:
        follow(reader, [step for page in AUTHORS for step in steps(page)], league)
