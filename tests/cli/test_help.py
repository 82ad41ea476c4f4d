"""What `deadheat` says of itself."""

from __future__ import annotations

import re

from deadheat import __version__
from deadheat.cli.main import PANELS
from deadheat.cli.server.api_client import API
from tests.cli.command import invoke


def test_it_says_its_version() -> None:
    done = invoke("--version")
    assert (done.returncode, done.stdout) == (0, f"deadheat {__version__} (version {API} of the API)\n")


def test_every_verb_stands_in_the_panel_of_those_who_type_it() -> None:
    shown = invoke("--help").stdout
    panels = re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE)
    assert panels == ["Options", *PANELS], "no verb stands outside of them"
