"""`deadheat timeouts`: who answers too late, where, how often, and whose fault it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.console import RenderableType

from deadheat.cli.console import out
from deadheat.cli.output import Column, Columns, Output, table
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import visits
from deadheat.engine.figures import used
from deadheat.league.records.matches import Late, Over, Timeouts

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
    Column("game", lambda late: late.game, whole=True),
    Column("command", lambda late: late.command or "unknown", whole=True),
    *FAULT,
    Column("p50 / p95 / p99 of the limit", lambda late: " / ".join(map(used, late.used or ())), right=True),
)
MACHINES: Columns[Late] = (Column("machine", lambda late: late.machine or "unknown", right=True), *FAULT)
BOTS: Columns[Late] = (Column("bot", lambda late: f"{late.author}/{late.bot}"), *SHARE)
SPARED = ("p50 / p95 / p99 of the limit", "void", "given back", "95 % interval", "prompts", "late")
"""The columns that make room in a narrow terminal, the first first. If that is not enough, bots take two lines."""


@visits
def timeouts(
    client: Client,
    season: Annotated[int, typer.Option(min=0, help="Only this season; 0: the whole league.")] = 0,
    over: Annotated[Over, typer.Option(help="How far back to count; season: everything.")] = Over.DAY,
) -> Output:
    """Show who answers too late, in which game and to which command, on which machine, and whose fault it is."""
    found = client.timeouts(season=season, over=over)
    return Output(found, _text(found))


def _text(found: Timeouts) -> Iterator[RenderableType]:
    if not found.commands:
        yield "No matches yet."
        return
    season = "in the whole season" if found.season_id else "in all seasons"
    time = season if found.over is Over.SEASON else f"in the last {found.over.replace('-', ' ')}"
    rows = [row for row in found.commands if row.over == found.over]
    yield from _table(f"By game and command, {time}", rows, COMMANDS)
    yield from _table(f"By machine, {time}", found.machines, MACHINES)
    bots = "in the whole season" if found.season_id else "in the seasons under way"
    yield from _table(f"Bots with the most timeouts, {bots}", found.bots, BOTS)


def _table(title: str, rows: Sequence[Late], columns: Columns[Late]) -> Iterator[RenderableType]:
    """Yield a table under its title, without the columns for which the terminal is too narrow."""
    yield title if rows else f"{title}: none."
    spared, wide = iter(SPARED), out.options.update(max_width=10_000)  # more than any table has
    while out.measure(table(rows, columns), options=wide).maximum > out.width and (less := next(spared, "")):
        columns = tuple(column for column in columns if column.heading != less)
    if rows:
        yield table(rows, columns)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
