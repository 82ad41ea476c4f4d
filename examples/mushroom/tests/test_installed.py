"""The package is built and installed like anybody's, and then found."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

from building import PACKAGE, PIP, around


def test_the_wheel_has_all_that_the_game_is(installed):
    _, names = installed
    here = PACKAGE / "src"
    files = {path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= set(names)


def test_an_installed_package_is_found_and_its_bots_play_under_the_referees_clock(installed, tmp_path):
    site, _ = installed
    command = [sys.executable, "-m", "deadheat.cli.main", "play", "mushroom", "house:random", "house:greedy"]
    done = subprocess.run(
        [*command, "--sandbox", "local", "--matches", "2", "--json"],
        env=around(site, tmp_path),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    matches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [match["faults"] for match in matches if "faults" in match and "ranks" in match] == [[], []]


def test_the_readme_can_be_followed(tmp_path):
    """Each command as it stands, but for the place to install into, and nothing is downloaded."""
    (block,) = re.findall(r"```sh\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    site = tmp_path / "site"
    instead = {
        "pip": [*PIP, "--isolated"],
        "install": ["install", "--no-index", "--no-build-isolation", "--target", str(site)],
        "deadheat": [sys.executable, "-m", "deadheat.cli.main"],
    }
    for line in block.splitlines():
        command = [part for word in shlex.split(line) for part in instead.get(word, [word])]
        done = subprocess.run(
            command,
            env=around(site, tmp_path),
            capture_output=True,
            text=True,
            check=False,
            cwd=PACKAGE.parent.parent,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert "seat 2  house:greedy" in done.stdout
