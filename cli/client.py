"""Talk to a server over its HTTP API."""

import typer


def register(app: typer.Typer) -> None:
    """Add the client's verbs."""
