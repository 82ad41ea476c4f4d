"""What `deadheat` says of itself."""

from __future__ import annotations

import re
import sys

import pytest

from deadheat import __version__
from deadheat.cli.main import PANELS, PARTS, load
from deadheat.cli.server.wire import API
from tests.cli.command import assert_one_sentence, invoke

SERVERS = {*PANELS["Running a server"], *PARTS}


def test_it_says_its_version() -> None:
    done = invoke("--version")
    assert (done.returncode, done.stdout) == (0, f"deadheat {__version__} (version {API} of the API)\n")


def test_every_verb_stands_in_the_panel_of_those_who_type_it() -> None:
    shown = invoke("--help").stdout
    panels = re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE)
    assert panels == ["Options", *PANELS], "no verb stands outside of them"


def test_a_verb_says_of_itself_what_the_list_says() -> None:
    for name, (_, listed) in (verb for verbs in PANELS.values() for verb in verbs.items()):
        assert " ".join(load(name).help.partition("\n\n")[0].split()) == listed


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_a_servers_command_in_an_authors_install_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_settings", None)
    for module in list(sys.modules):
        if module.startswith(("deadheat.cli.operator", "deadheat.league.config")):
            monkeypatch.delitem(sys.modules, module)
    words = {"backup": ["folder"], "restore": ["."], "user": ["role", "ada", "author"], "jobs": ["play", "1"]}
    sentence = "this needs the server's packages: pip install 'deadheat[server]' (pydantic_settings is missing)"
    assert_one_sentence(invoke(name, *words.get(name, [])), sentence, 2)
