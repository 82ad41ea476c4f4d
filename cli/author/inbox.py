"""An author's inbox: notices of events that concern them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType

from deadheat.cli.output import Column, Columns, Output, table
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, asks
from deadheat.league.records.bots import Notice

COLUMNS: Columns[Notice] = (
    Column("when", lambda notice: f"{notice.at:%Y-%m-%d %H:%M}", whole=True),
    Column("", lambda notice: "" if notice.read_at else "new"),
    Column("what", lambda notice: notice.text),
    Column("page", lambda notice: notice.path),
)


@asks
def inbox(
    client: Client,
    unread: Annotated[bool, typer.Option("--unread", help="Show only what you have not read.")] = False,
    read: Annotated[bool, typer.Option("--read", help="Mark what is shown, and all that is older, as read.")] = False,
    limit: Most = 20,
) -> Output:
    """Show your notices, newest first."""
    found = list(client.inbox(unread=unread, limit=limit))
    if read and found:
        client.mark_read(found[0].id)

    def text() -> Iterator[RenderableType]:
        yield table(found, COLUMNS) if found else "There is nothing new." if unread else "There is nothing yet."

    return Output(found, text())
