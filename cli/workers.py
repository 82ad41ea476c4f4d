"""`deadheat workers`: the machines that play, as an operator wants to see them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from cli.client import DEFAULT_SERVER, Client, Refused, Server, Token
from cli.console import fail, out, plain, short

NAME_WIDTH = 16
STYLES = {"fit": "green", "unchecked": "magenta", "unfit": "red"}
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(workers)


def workers(
    server: Server = DEFAULT_SERVER,
    token: Token = "",
    as_json: Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")] = False,
) -> None:
    """Show the machines that play, whether each is fit to judge, and why not; exit code 1 if none is given matches.

    The token is an organiser's, e.g. the one in data/organiser.token.
    """
    try:
        with Client(server, token) as client:
            found = client.call("GET", "/v1/workers")
    except Refused as error:
        fail(str(error))
    if as_json:
        print(json.dumps(found))
    else:
        _show(found["items"], found["judge_unfit"])
    if not any(worker["judges"] for worker in found["items"]):
        raise typer.Exit(1)


def _show(found: list[dict[str, Any]], judge_unfit: bool) -> None:
    now = datetime.now(UTC)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("machine", "fitness", "plays", "seen", "proved"):
        table.add_column(heading, no_wrap=True)
    for heading in ("series", "voids"):
        table.add_column(heading, justify="right", no_wrap=True)
    for worker in found:
        table.add_row(
            plain(short(worker["name"], NAME_WIDTH)),
            Text(worker["fitness"], style=STYLES[worker["fitness"]]),
            "yes" if worker["judges"] else Text("no", style="red"),
            _ago(now, worker["last_seen_at"]),
            _ago(now, worker["canary_at"]),
            str(worker["series"]),
            str(worker["voids"]),
        )
    out.print(table)
    for worker in found:
        for reason in worker["reasons"]:
            out.print(f"[red]{plain(worker['name'])}:[/] {plain(reason)}", soft_wrap=True)
        for remark in worker["remarks"]:
            out.print(f"{plain(worker['name'])}: {plain(remark)}", soft_wrap=True)
    if judge_unfit:
        out.print("[red]Unfit machines judge all the same[/] (DEADHEAT_JUDGE_UNFIT); each of their attempts says so.")
    elif not any(worker["judges"] for worker in found):
        out.print(
            "[red]No machine is fit to judge: matches wait.[/] `deadheat check-host` on it says how to mend that."
        )


def _ago(now: datetime, instant: str | None) -> str:
    if instant is None:
        return "never"
    seconds = max(0, int((now - datetime.fromisoformat(instant)).total_seconds()))
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size), (1, "s"))
    return f"{seconds // size} {unit} ago"
