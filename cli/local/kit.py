"""The local kit: everything an author can do on one machine, without a server."""

from __future__ import annotations

import typer

from cli.author.explain import explain
from cli.author.new import new
from cli.local.play import play
from cli.local.watch import replay, verify


def register(app: typer.Typer) -> None:
    """Add the local verbs."""
    for verb in (new, play, replay, explain, verify):
        app.command()(verb)
