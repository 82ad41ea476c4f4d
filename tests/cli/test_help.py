"""The help of `deadheat`, its version, and what an author's install says about a server's commands."""

from __future__ import annotations

import re

import pytest

from deadheat import __version__
from deadheat.cli.main import FIRST, GAMES_HELP, PANELS, PARTS, load, said_of
from deadheat.cli.server.wire import API
from deadheat.engine.games import GAMES
from tests.cli.command import in_one_process, invoke


def test_it_says_its_version() -> None:
    done = invoke("--version")
    assert (done.returncode, done.stdout) == (0, f"deadheat {__version__} (version {API} of the API)\n")


def test_every_verb_stands_in_the_panel_of_those_who_type_it() -> None:
    shown = invoke("--help").stdout
    panels = re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE)
    assert panels == ["Options", *PANELS], "no verb stands outside of them"


def test_nothing_shows_ten_commands_and_help_all_shows_the_rest() -> None:
    for words in ((), ("help",)):
        done = invoke(*words)
        assert done.returncode == 0
        assert tuple(re.findall(r"^│ ([a-z]+)  ", done.stdout, re.MULTILINE)) == FIRST and len(FIRST) == 10
        assert "`deadheat help all` lists every command." in " ".join(done.stdout.split())
    everything = invoke("help", "all").stdout
    assert everything == invoke("--help").stdout and "help all" not in everything
    assert invoke("help", "user", "ban").stdout == invoke("user", "ban", "--help").stdout


def test_a_servers_commands_are_listed_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lists() -> bool:
        return "Running a server" in invoke("help", "all").stdout

    assert lists()
    monkeypatch.setattr("deadheat.cli.main.find_spec", lambda name: None)
    assert not lists()
    assert invoke("serve", "--help").returncode == 0


def test_the_games_are_named() -> None:
    assert "`deadheat new --help` lists the games" in GAMES_HELP
    assert "house:random" in " ".join(invoke("--help").stdout.split())
    for verb in ("play", "tournament", "new"):
        assert all(game in invoke(verb, "--help").stdout for game in GAMES)


def test_a_verb_says_of_itself_what_the_list_says() -> None:
    for name in (name for verbs in PANELS.values() for name in verbs):
        assert load(name).help.partition("\n\n")[0] == said_of(name)


def test_a_servers_command_in_an_authors_install_says_what_to_install() -> None:
    words = {"backup": "folder", "restore": ".", "user": "role ada author", "jobs": "play 1"}
    asked = [f"{name} {words.get(name, '')}" for name in [*PANELS["Running a server"], *PARTS]]
    sentence = "this needs the server's packages: pip install 'deadheat[server]' (pydantic_settings is missing)"
    ends = in_one_process(asked, "sys.modules['pydantic_settings'] = None")
    assert ends == [(2, f"error: {sentence}\n")] * len(asked)
