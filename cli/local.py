"""The local kit: everything an author can do on one machine, without a server."""

from __future__ import annotations

import typer

from cli.play import play
from cli.watch import replay, verify


def register(app: typer.Typer) -> None:
    """Add the local verbs."""
    for verb in (play, replay, verify):
        app.command()(verb)
