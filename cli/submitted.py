"""`deadheat bot`: what an author has submitted."""

from __future__ import annotations

import typer
from rich import box
from rich.table import Table

from cli.author import Bot, find_bot
from cli.client import AsJson, Server, Token, connect, print_json_lines
from cli.console import out, plain
from cli.follow import state_line
from engine.figures import counted

group = typer.Typer(no_args_is_help=True, help="Bots that you have submitted, and their versions.")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(group, name="bot")


@group.command(name="list")
def list_bots(server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Your bots, and those of your teams."""
    with connect(server, token) as client:
        found = client.bots()
    if as_json:
        print_json_lines(found)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("bot", justify="right")
    for heading in ("name", "game", "team", "versions"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "versions" else "left")
    for bot in found:
        table.add_row(str(bot.id), plain(bot.name), plain(bot.game), plain(bot.team or "-"), str(bot.versions))
    out.print(table if found else "You have no bot yet.")


@group.command()
def versions(bot: Bot, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """The newest hundred versions of a bot, and what became of each."""
    with connect(server, token) as client:
        found = client.versions(find_bot(client, bot))
    if as_json:
        print_json_lines(found)
        return
    for version in found:
        sent = f"{plain(version.filename)}, {counted(version.size_bytes, 'byte')}, {plain(version.language)}"
        out.print(f"{state_line(version)} ({sent})", soft_wrap=True)
    if not found:
        out.print("It has no version yet.")
