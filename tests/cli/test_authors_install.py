"""Authors' commands, and the help of all commands, work with the packages of an author's install, which are the
project's own dependencies.
"""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deadheat.cli.main import PANELS
from tests.cli.command import GAME, ROOT

AUTHORS = ("author", "local", "organiser", "replays", "server", "statistics", "tournament")
"""Folders of `cli` in which no module may need more; the other folders run a server."""

LATER = ("league.ratings.log", "league.verification.comparison", "league.verification.fairness")
"""Modules that `rate --check --server` imports when it is called."""

MOST = 15
"""The most distributions that pip installs for an author, this one among them."""

PROGRAM = """
import importlib, json, sys
refused, modules, commands = json.load(sys.stdin)

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
for name in modules:
    importlib.import_module(f"deadheat.{name}")
from deadheat.cli.main import app
for command in commands:
    try:
        app(command, prog_name="deadheat")
    except SystemExit as end:
        print(f"{command[0]}: exit code {end.code}", flush=True)
"""
"""Runs commands while some modules are missing; its input names these, and what to import first."""


def installed_with(names: set[str]) -> set[str]:
    """Return these distributions and all that they require, as installed here."""
    found: set[str] = set()
    left = [Requirement(name) for name in names]
    while left:
        wanted = left.pop()
        if canonicalize_name(wanted.name) in found:
            continue
        try:
            requires = distribution(wanted.name).requires or ()
        except PackageNotFoundError:
            continue
        found.add(canonicalize_name(wanted.name))
        extras = ["", *wanted.extras]
        left += [
            one
            for one in map(Requirement, requires)
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
        ]
    return found


def test_an_authors_install_is_small() -> None:
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert len({"deadheat"} | installed_with(set(own))) <= MOST


def missing_for_authors() -> list[str]:
    """Return the modules on this machine that an author's install lacks."""
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    brought = installed_with(set(own))
    return [
        module
        for module, distributions in packages_distributions().items()
        if not brought & {canonicalize_name(name) for name in distributions} or module == "docker"
    ]


def run_without(modules: list[str], commands: list[list[str]], folder: Path) -> subprocess.CompletedProcess[str]:
    """Import these modules and run these commands in a folder, with nothing but an author's install."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([missing_for_authors(), modules, commands]),
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def test_authors_commands_need_no_more_than_an_authors_install(tmp_path: Path) -> None:
    """They rate, test and play without Docker, and verify, explain and replay the transcript."""
    transcripts, log = tmp_path / "transcripts", tmp_path / "games.jsonl"
    log.write_text('{"players": ["a", "b"], "ranks": [1, 2], "group": 1}\n{"players": ["b", "a"], "ranks": [1, 1]}\n')
    transcript = transcripts / f"{GAME}-{'0' * 32}.jsonl"
    match = ["play", GAME, "house:random", "house:starter", "--matches", "1"]
    commands = [
        ["rate", str(log)],
        ["sprt", "--elo0", "0", "--elo1", "5", "--counts", "0,0,1000000000000"],
        ["new", GAME, "--language", "python", "--folder", str(tmp_path / "mine")],
        [*match, "--sandbox", "docker"],
        [*match, "--seed", "0" * 32, "--transcripts", str(transcripts)],
        ["verify", str(transcript)],
        ["explain", str(transcript), "--seat", "1"],
        ["replay", str(transcript)],
    ]
    files = (path for folder in AUTHORS for path in (ROOT / "cli" / folder).glob("*.py"))
    modules = [f"cli.{path.parent.name}.{path.stem}".removesuffix(".__init__") for path in files]
    done = run_without([*sorted(modules), *LATER], commands, tmp_path)
    ends = [line for line in done.stdout.splitlines() if ": exit code" in line]
    expected = [f"{command[0]}: exit code 0" for command in commands]
    expected[3] = "play: exit code 2"
    assert ends == expected, done.stdout + done.stderr
    assert "local to run them as plain" in done.stderr.replace("\n", " ")
    assert "H1 is accepted" in done.stdout


def test_the_help_of_every_command_needs_no_more_either(tmp_path: Path) -> None:
    verbs = [verb for panel in PANELS.values() for verb in panel]
    done = run_without([], [[verb, "--help"] for verb in verbs] + [["user", "ban", "--help"]], tmp_path)
    ends = [line for line in done.stdout.splitlines() if ": exit code" in line]
    assert ends == [f"{verb}: exit code 0" for verb in [*verbs, "user"]], done.stdout + done.stderr
    assert "--keep" in done.stdout and "--reason" in done.stdout
