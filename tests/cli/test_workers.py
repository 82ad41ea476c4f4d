"""`deadheat workers`, against a real server: which machines play, and why one may not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from deadheat.league.jobs import Host
from deadheat.league.service.series.hosts import host_arrives, record_check
from tests.api.site import Site
from tests.cli.command import Typing, succeeded

Ask = Callable[..., subprocess.CompletedProcess[str]]
HOSTILE = Host("red\x1b[31m-[bold]host" + "x" * 60, "boot")


@pytest.fixture
def ask(site: Site, server: str) -> Ask:
    return lambda *words: Typing(site, server).run("boss", "workers", *words)


def check(site: Site, host: Host, *reasons: str) -> None:
    site.world.write(host_arrives, host, "image")
    site.world.write(record_check, host, {}, reasons, 60)


def test_a_fit_machine_is_shown_with_what_it_did(site: Site, ask: Ask) -> None:
    done = succeeded(ask())
    assert "machine" in done.stdout and "fit" in done.stdout and "yes" in done.stdout
    assert "No machine" not in done.stdout


def test_without_a_fit_machine_it_says_so_and_fails(site: Site, ask: Ask) -> None:
    check(site, site.world.host, "Too much noise.")
    done = ask()
    assert done.returncode == 1 and "machine: Too much noise." in done.stdout
    assert "fit to judge: matches wait." in done.stdout
    as_json = ask("--json")
    assert as_json.returncode == 1
    found = json.loads(as_json.stdout)
    assert (found["judge_unfit"], found["items"][0]["judges"]) == (False, False)


def test_a_remark_comes_with_its_cure(site: Site, ask: Ask) -> None:
    finding = {"level": "remark", "text": "It creaks.", "mend": "oil it"}
    site.world.write(record_check, site.world.host, {"findings": [finding]}, (), 60)
    assert "machine: It creaks. (Fix: oil" in ask().stdout


def test_a_machines_name_cannot_paint_the_terminal(site: Site, ask: Ask) -> None:
    check(site, HOSTILE, "It said \x1b[2J[red].")
    done = ask()
    assert "\x1b" not in done.stdout and "[bold]host" in done.stdout
    table = [line for line in done.stdout.splitlines() if "It said" not in line]
    assert max(map(len, table)) <= 80
    assert "unfit" in table[3] + table[4]  # only the name is cut short
