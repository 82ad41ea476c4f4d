"""The package is built and installed like anybody's, and then found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel and unpack it into a folder, with the tools that are here: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("mushroom")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, PACKAGE], check=True
    )
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", folder / "site", wheel], check=True)
    return folder / "site", zipfile.ZipFile(wheel).namelist()


def test_the_wheel_has_all_that_the_game_is(installed):
    _, names = installed
    here = PACKAGE / "src"
    files = {path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= set(names)


def test_an_installed_package_is_found_and_its_bots_play_under_the_referees_clock(installed, tmp_path):
    site, _ = installed
    around = {"PYTHONPATH": ":".join([str(site), *sys.path]), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    around |= {"DEADHEAT_LOCK_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "deadheat.cli.main", "play", "mushroom", "house:random", "house:greedy"]
    done = subprocess.run(
        [*command, "--sandbox", "local", "--matches", "2", "--json"],
        env=around,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    matches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [match["faults"] for match in matches if "faults" in match and "ranks" in match] == [[], []]
