"""`deadheat bot`, `people`, `trial`: an author's submissions, and changes to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.author.entering import Bot, find_bot
from deadheat.cli.console import USAGE, command, fail
from deadheat.cli.output import Column, Columns, Output, as_object, commands, tabled
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks
from deadheat.cli.server.follow import panel_line, state_line
from deadheat.engine.figures import counted
from deadheat.league.records.bots import Bot as BotAnswer
from deadheat.league.records.bots import Version
from deadheat.league.records.entries import PanelResult

Number = Annotated[int, typer.Argument(metavar="VERSION", help="The version's number.", min=1)]

group = typer.Typer(no_args_is_help=True, help="Manage your bots: list, fetch, rename, describe, retire.")
asked = commands(group, asks)

BOTS: Columns[BotAnswer] = (
    Column("bot", lambda bot: bot.id, right=True),
    Column("name", lambda bot: f"{bot.name}{' (retired)' if bot.retired_at else ''}"),
    Column("game", lambda bot: bot.game),
    Column("team", lambda bot: bot.team or "-"),
    Column("versions", lambda bot: bot.versions, right=True),
)


@asked(name="list")
def list_bots(client: Client) -> Output:
    """List your bots and those of your teams."""
    return tabled(client.bots(), BOTS, "You have no bots yet.")


@asked()
def versions(client: Client, bot: Bot) -> Output:
    """List a bot's newest hundred versions, their states, and their points against the panels of seasons."""
    bot_id = find_bot(client, bot)
    panels: dict[int, list[PanelResult]] = {}
    for panel in client.panels(bot_id):
        panels.setdefault(panel.version, []).append(panel)

    def lines(version: Version) -> Iterator[str]:
        size = counted(version.size_bytes, "byte")
        yield f"{state_line(version)} ({version.filename}, {size}, {version.language})"
        for panel in panels.get(version.number, ()):
            yield f"  {panel_line(panel)}"

    found = client.versions(bot_id)
    if not found:
        return Output(text="It has no versions yet.")
    answers = ({**as_object(one), "panels": [*map(as_object, panels.get(one.number, ()))]} for one in found)
    return Output(answers, (line for version in found for line in lines(version)))


@asked()
def source(
    client: Client,
    bot: Bot,
    version: Number,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: BOT-VERSION and the original ending.")
    ] = None,
) -> Output:
    """Fetch a version's upload, byte for byte. Only a file named with --output is overwritten."""
    bot_id = find_bot(client, bot)
    ending = re.search(r"\.\w{1,8}\Z", client.version(bot_id, version).filename, re.ASCII)
    path = output or Path(f"{bot}-{version}{ending[0] if ending else ''}")
    if output is None and path.exists():
        fail(f"{path} already exists; choose a file with --output", USAGE)
    return _written(path, client.source(bot_id, version))


@asked()
def rename(
    client: Client, bot: Bot, name: Annotated[str, typer.Argument(help="At most 32 letters, digits, - and _.")]
) -> Output:
    """Rename a bot. Existing rankings keep the old name."""
    found = client.change_bot(find_bot(client, bot), name=name)
    return Output(found, f"The bot is now called {found.name}.")


@asked()
def describe(
    client: Client, bot: Bot, text: Annotated[str, typer.Argument(help="At most 500 characters; '' for none.")]
) -> Output:
    """Set the description on a bot's public page."""
    found = client.change_bot(find_bot(client, bot), description=text)
    return Output(found, f"{found.name}: {found.description or 'no description'}")


@asked()
def retire(
    client: Client, bot: Bot, undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False
) -> Output:
    """Withdraw a bot from its seasons and from the lists that others choose from. Its results stay.

    In a season that is frozen or in its finals, it plays on to the end.
    """
    found = client.change_bot(find_bot(client, bot), retired=not undo)
    if undo:
        rejoin = command("rejoin", bot, "--season", "NUMBER")
        return Output(found, f"{found.name} is back. `{rejoin}` reverses a withdrawal.")
    return Output(found, f"{found.name} is retired. `{command('bot', 'retire', bot, '--undo')}` brings it back.")


@asks
def people(
    client: Client, bot: Bot, may: Annotated[bool, typer.Option("--on/--off", help="Whether people may play.")]
) -> Output:
    """Allow or forbid people to play against your bot on the site."""
    changed = client.change_bot(find_bot(client, bot), plays_people=may)
    return Output(changed, f"People {'may' if changed.plays_people else 'cannot'} play against {changed.name}.")


@asks
def trial(
    client: Client,
    bot: Bot,
    version: Number,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; default: BOT-VERSION-trial.jsonl.")
    ] = None,
) -> Output:
    """Fetch the transcript of a version's trial match; `deadheat replay` shows it."""
    path = output or Path(f"{bot}-{version}-trial.jsonl")
    return _written(path, client.trial(find_bot(client, bot), version), f": {command('replay', str(path))}")


def _written(path: Path, content: bytes, then: str = "") -> Output:
    try:
        path.write_bytes(content)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    return Output({"file": str(path), "bytes": len(content)}, f"Written to {path}{then}")
