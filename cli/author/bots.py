"""`deadheat bot`: what an author has submitted, and what may be changed of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from cli.author.entering import Bot, find_bot, write_file
from cli.console import command, fail, out, plain
from cli.server.api_models import Bot as BotAnswer
from cli.server.client import USAGE, AsJson, Server, Token, connect, print_json, print_json_lines
from cli.server.follow import state_line
from engine.figures import counted

group = typer.Typer(no_args_is_help=True, help="Manage your bots: list, fetch, rename, describe, retire.")


def register(app: typer.Typer) -> None:
    """Add this module's verbs to `app`."""
    app.add_typer(group, name="bot")


@group.command(name="list")
def list_bots(server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """List your bots and those of your teams."""
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
        name = f"{plain(bot.name)}{' (retired)' if bot.retired_at else ''}"
        table.add_row(str(bot.id), name, plain(bot.game), plain(bot.team or "-"), str(bot.versions))
    out.print(table if found else "You have no bots yet.")


@group.command()
def versions(bot: Bot, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """List a bot's newest hundred versions and their states."""
    with connect(server, token) as client:
        found = client.versions(find_bot(client, bot))
    if as_json:
        print_json_lines(found)
        return
    for version in found:
        sent = f"{plain(version.filename)}, {counted(version.size_bytes, 'byte')}, {plain(version.language)}"
        out.print(f"{state_line(version)} ({sent})", soft_wrap=True)
    if not found:
        out.print("It has no versions yet.")


@group.command()
def source(
    bot: Bot,
    version: Annotated[int, typer.Argument(help="Its number.", min=1)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: BOT-VERSION and the original ending.")
    ] = None,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Fetch a version's upload, byte for byte. Only a file named with --output is overwritten."""
    with connect(server, token) as client:
        bot_id = find_bot(client, bot)
        path = output or Path(f"{bot}-{version}{Path(client.version(bot_id, version).filename).suffix}")
        if output is None and path.exists():
            fail(f"{path} already exists; choose a file with --output", USAGE)
        content = client.source(bot_id, version)
    write_file(path, content, as_json)


@group.command()
def rename(
    bot: Bot,
    name: Annotated[str, typer.Argument(help="At most 32 letters, digits, - and _.")],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Rename a bot. Existing rankings keep the old name."""
    found = _change(bot, server, token, as_json, name=name)
    _say(f"The bot is now called {plain(found.name)}.", as_json)


@group.command()
def describe(
    bot: Bot,
    text: Annotated[str, typer.Argument(help="At most 500 characters; '' for none.")],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Set the description on a bot's public page."""
    found = _change(bot, server, token, as_json, description=text)
    _say(f"{plain(found.name)}: {plain(found.description) or 'no description'}", as_json)


@group.command()
def retire(
    bot: Bot,
    undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Withdraw a bot from its seasons and from the lists that others choose from. Its results stay.

    Where a season is frozen or in its finals it plays on to the end.
    """
    found = _change(bot, server, token, as_json, retired=not undo)
    back = command("bot", "retire", bot, "--undo")
    again = f"{plain(found.name)} is back. `{command('rejoin', bot, '--season', 'NUMBER')}` reverses a withdrawal."
    _say(again if undo else f"{plain(found.name)} is retired. `{back}` brings it back.", as_json)


def _change(bot: str, server: str, token: str, as_json: bool, **change: str | bool) -> BotAnswer:
    with connect(server, token) as client:
        found = client.change_bot(find_bot(client, bot), **change)
    if as_json:
        print_json(found)
    return found


def _say(sentence: str, as_json: bool) -> None:
    if not as_json:
        out.print(sentence, soft_wrap=True)
