"""`deadheat workers`: the machines that play, as an operator wants to see them."""

from __future__ import annotations

from datetime import UTC, datetime

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from cli.console import out, plain, short, visible
from cli.server.api_models import Workers
from cli.server.client import AsJson, Server, Token, connect, print_json

NAME_WIDTH = 16
STYLES = {"fit": "green", "unchecked": "magenta", "unfit": "red"}
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def register(app: typer.Typer) -> None:
    """Add this module's verb to `app`."""
    app.command()(workers)


def workers(server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Show the machines that play, whether each is fit to judge, and why not; exit code 1 if none is given matches.

    The token is an organiser's, e.g. the one in data/organiser.token.
    """
    with connect(server, token) as client:
        found = client.workers()
    if as_json:
        print_json(found)
    else:
        _show(found)
    if not any(worker.judges for worker in found.items):
        raise typer.Exit(1)


def _show(found: Workers) -> None:
    now = datetime.now(UTC)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("no.", justify="right", no_wrap=True)
    for heading in ("machine", "fitness", "plays", "seen", "proved"):
        table.add_column(heading, no_wrap=True)
    for heading in ("series", "voids"):
        table.add_column(heading, justify="right", no_wrap=True)
    for worker in found.items:
        table.add_row(
            str(worker.number),
            plain(short(worker.name, NAME_WIDTH)),
            Text(visible(worker.fitness), style=STYLES.get(worker.fitness, "")),
            "yes" if worker.judges else Text("no", style="red"),
            _ago(now, worker.last_seen_at),
            _ago(now, worker.canary_at),
            str(worker.series),
            str(worker.voids),
        )
    out.print(table)
    for worker in found.items:
        for reason in worker.reasons:
            out.print(f"[red]{plain(worker.name)}:[/] {plain(reason)}", soft_wrap=True)
        for remark in worker.remarks:
            out.print(f"{plain(worker.name)}: {plain(remark)}", soft_wrap=True)
    if found.judge_unfit:
        out.print("[red]Unfit machines judge anyway[/] (DEADHEAT_JUDGE_UNFIT); each of their attempts says so.")
    elif not any(worker.judges for worker in found.items):
        out.print(
            "[red]No machine is fit to judge: matches wait.[/] Run `deadheat check-host` there to see how to fix it."
        )


def _ago(now: datetime, instant: datetime | None) -> str:
    if instant is None:
        return "never"
    seconds = max(0, int((now - instant).total_seconds()))
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size), (1, "s"))
    return f"{seconds // size} {unit} ago"
