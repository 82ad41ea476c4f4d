"""The authors' and the client's pages, followed to the letter against a server that builds and plays."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.cli.author.submit import read_bot
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.follow import wait_for_build
from tests.cli.command import GAME, RANDOM, ROOT
from tests.deployment import serving
from tests.docs.console import ANSWERS, Step, Terminal, fits, steps

PAGES = ("authors", "client")
ADDRESS = "http://127.0.0.1:8080"
"""As the pages write it; the test's own server listens elsewhere."""


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """`deadheat serve` with bots as plain programs, on which season 1 is open and has an entrant.

    What the pages write, and what it is here: the address, and a token.
    """
    # the page's reader comes back an hour later
    with serving(tmp_path_factory.mktemp("league"), REJOIN_SECONDS="0") as deployment:
        yield {ADDRESS: deployment.url, "dh_...": prepare(deployment.url, deployment.organiser)}


def prepare(address: str, organiser: str) -> str:
    """The token of an author whose bot waits in season 1."""
    password = ANSWERS["Password: "]
    with Client(address, organiser) as boss:
        season = boss.create_season({"name": "Winter 2026", "game": GAME, "series_length": 2, "games_per_pair": 10})
        boss.change_season(season.id, {"state": "open"})
    with Client(address) as stranger:
        stranger.sign_up("charles", password)
        token = stranger.issue_token("charles", password).token
    with Client(address, token) as charles:
        bot = charles.own_bot(GAME, "chance")
        version = wait_for_build(charles, charles.upload(bot.id, *read_bot(Path(RANDOM))))
        assert version.state == "ready", version.reason
        charles.enter(season.id, bot.id)
    return token


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed_to_the_letter(page: str, league: dict[str, str], tmp_path: Path) -> None:
    todo = steps((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert todo
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, started in (("deadheat", f'"{sys.executable}" -m deadheat.cli.main'), ("python", f'"{sys.executable}"')):
        (programs / name).write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}/src" exec {started} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    folder = tmp_path / "work"
    folder.mkdir()
    terminal = Terminal(folder, environment)
    try:
        for step in todo:
            follow(terminal, step, league)
    finally:
        terminal.close()


def follow(terminal: Terminal, step: Step, here: dict[str, str]) -> None:
    command = step.command
    for written, real in here.items():
        command = command.replace(written, real)
    code, output = terminal.run(command)
    output = output.replace(here[ADDRESS], ADDRESS)
    assert code == 0, f"$ {command}\n{output}"
    for expected in step.expected:
        assert fits(expected, output), f"$ {command}\nis to say\n{expected}\nand says\n{output}"
