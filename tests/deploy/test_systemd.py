"""The systemd units: systemd understands them, they are confined where possible, and they start what exists."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deadheat.cli.main import app
from deadheat.league.config import Settings
from tests.cli.command import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
EXPOSURE = {"deadheat-worker.service": 5.0, "deadheat-machine.service": 5.0}
"""Exposure by `systemd-analyze security`, from 0 to 10; workers need root, the engine and control groups."""

MOST_EXPOSURE = 2.0

FILTERED = [unit for unit in UNITS if "SystemCallFilter=" in unit.read_text()]
UNDER_A_FILTER = """
import ctypes, os, sys
how, names = int(sys.argv[1], 16), sys.argv[2].split()
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
calls = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(how)))
for number in map(library.seccomp_syscall_resolve_name, map(str.encode, names)):
    assert number < 0 or library.seccomp_rule_add(calls, ctypes.c_uint32(0x7FFF0000), number, 0) == 0
assert library.seccomp_load(calls) == 0
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""
"""Start a Python that may make only the named calls; `how`, a number of libseccomp's, says how others end."""

KILL, ERRNO_EPERM = "80000000", "00050001"


@pytest.fixture
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit with a command that exists on this machine."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze is installed (Debian: systemd)")
    unit: Path = request.param
    path = tmp_path / unit.name
    path.write_text(re.sub(r"ExecStart=/opt/deadheat/deadheat", "ExecStart=/bin/true", unit.read_text()))
    return path


def analyze(*arguments: str) -> str:
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("here", UNITS, indirect=True, ids=lambda unit: unit.name)
def test_systemd_understands_the_unit(here: Path) -> None:
    analyze("verify", "--man=no", "--recursive-errors=no", str(here))


@pytest.mark.parametrize("here", UNITS, indirect=True, ids=lambda unit: unit.name)
def test_the_unit_is_closed_where_it_can_be(here: Path) -> None:
    told = analyze("security", "--offline=true", str(here))
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", told)
    assert exposure is not None and float(exposure[1]) <= EXPOSURE.get(here.name, MOST_EXPOSURE)


@cache
def calls_of(names: str) -> frozenset[str]:
    """Return all calls in a list as systemd writes it: names, and @sets of names and sets."""
    found: set[str] = set()
    for name in names.split():
        if name.startswith("@"):
            lines = (line.strip() for line in analyze("syscall-filter", name).splitlines()[1:])
            found |= calls_of(" ".join(line for line in lines if not line.startswith("#")))
        else:
            found.add(name)
    return frozenset(found)


@cache  # all units with a filter allow the same calls
def imported_under(how: str, calls: frozenset[str]) -> subprocess.CompletedProcess[str]:
    """Import what API, housekeeping and scheduler load in a process that may make only `calls`."""
    modules = ("api.app", "workers.tasks", "workers.scheduler", "league.service.rankings.ranking")
    program = f"import {', '.join(f'deadheat.{module}' for module in modules)}"
    command = [sys.executable, "-c", UNDER_A_FILTER, how, " ".join(sorted(calls)), "-c", program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("here", FILTERED, indirect=True, ids=lambda unit: unit.name)
def test_our_code_starts_under_the_calls_that_the_unit_allows(here: Path) -> None:
    """On Debian 12 a killing filter ended API, housekeeping and scheduler while they loaded numpy."""
    text = here.read_text()
    allowed, taken = re.findall(r"^SystemCallFilter=~?(.*)$", text, re.MULTILINE)
    how = ERRNO_EPERM if "\nSystemCallErrorNumber=EPERM\n" in text else KILL
    done = imported_under(how, calls_of(allowed) - calls_of(taken))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_what_the_unit_starts_is_a_verb_with_these_options(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=/opt/deadheat/deadheat (.*)$", unit.read_text(), re.MULTILINE)
    verb, *arguments = line.split()
    helped = CliRunner().invoke(app, [verb, "--help"], terminal_width=200).output
    for option in (argument for argument in arguments if argument.startswith("--")):
        assert option in helped


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_waits_longer_for_the_end_than_we_do(unit: Path) -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit.read_text(), re.MULTILINE)
    assert int(seconds) >= (60 if " worker " in unit.read_text() else 20)


def test_the_example_of_an_environment_names_settings_only() -> None:
    names = re.findall(r"^DEADHEAT_(\w+)=", (ROOT / "deploy" / "systemd" / "env.example").read_text(), re.MULTILINE)
    assert names
    assert {name.lower() for name in names} <= Settings.model_fields.keys()
