"""`deadheat timeouts`: who answers too late, where, how often, and whose fault it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType

from deadheat.cli.output import Column, Columns, Output, table
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import visits
from deadheat.league.records.timeouts import Late, Over, Timeouts

SHARE: Columns[Late] = (
    Column("prompts", lambda late: f"{late.prompts:,}", right=True),
    Column("late", lambda late: late.timeouts, right=True),
    Column("share", lambda late: _percent(late.share), right=True),
    Column("95 % interval", lambda late: " - ".join(map(_percent, late.interval or ())), right=True),
)
FAULT: Columns[Late] = (
    *SHARE,
    Column("given back", lambda late: late.given_back, right=True),
    Column("void", lambda late: late.void, right=True),
)
COMMANDS: Columns[Late] = (
    Column("game", lambda late: late.game),
    Column("command", lambda late: late.command or "unknown", whole=True),
    *FAULT,
    Column("p50 / p95 / p99 of the limit", lambda late: " / ".join(map(_percent, late.used or ())), right=True),
)
MACHINES: Columns[Late] = (Column("machine", lambda late: late.machine or "unknown", right=True), *FAULT)
BOTS: Columns[Late] = (Column("bot", lambda late: f"{late.author}/{late.bot}"), *SHARE)


@visits
def timeouts(
    client: Client,
    season: Annotated[int, typer.Option(min=0, help="Only this season; 0: the whole league.")] = 0,
    over: Annotated[Over, typer.Option(help="The time up to now.")] = Over.DAY,
) -> Output:
    """Show who answers too late, in which game and to which command, on which machine, and whose fault it is."""
    found = client.timeouts(season=season, over=over)
    return Output(found, _text(found))


def _text(found: Timeouts) -> Iterator[RenderableType]:
    yield table((late for late in found.commands if late.over == found.over), COMMANDS)
    yield table(found.machines, MACHINES)
    yield table(found.bots, BOTS)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
