"""`deadheat machine`: the tokens of machines that play over HTTP; and the worker there, which has nothing but one."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from deadheat.cli.console import USAGE, fail, note
from deadheat.cli.operator import read_settings
from deadheat.cli.operator.tree import Tree
from deadheat.cli.operator.users import league
from deadheat.cli.output import Column, Output, commands, tabled
from deadheat.league.states import Trust

if TYPE_CHECKING:
    from deadheat.league.config import Settings
    from deadheat.workers.context import Context
    from deadheat.workers.machine.client import OverHttp

PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

SECRETS = ("DATABASE_URL", "BROKER_URL", "BLOB_URL", "BACKUP_KEY", "SMTP_URL", "OPENID_CLIENT_SECRET")
"""Settings of a league that a machine which plays over HTTP must not have."""

AT_HOME = ("localhost", "127.0.0.1", "::1")

group = typer.Typer(no_args_is_help=True, help="Let machines play over HTTP, with a token each and no other secret.")
said = commands(group)

Name = Annotated[str, typer.Argument(help="The machine's name: letters, digits, dots, - and _.")]


@said()
def add(
    name: Name,
    trust: Annotated[Trust, typer.Option(help="low: a lent machine, which plays nothing that decides.")] = Trust.LOW,
    owner: Annotated[str, typer.Option(help="The user who lends it; none of their seasons is played there.")] = "",
) -> Output:
    """Let a machine play, and print its token, which is shown only now, with what to type there."""
    from re import fullmatch

    from deadheat.league.service.machines.access import add_machine

    if not fullmatch(PATTERN, name):
        fail("A machine's name has 1 to 64 letters, digits, dots, - and _.", USAGE)
    if owner and trust is Trust.FULL:
        fail(
            "A machine of full trust plays everything, its owner's seasons too: leave out --owner or --trust full.",
            USAGE,
        )
    settings = read_settings()
    with league() as session:
        token = add_machine(session, name, trust, owner)
    server = settings.site_url or f"http://{settings.host}:{settings.port}"
    command = f"deadheat worker --server {server} --token-file machine.token"
    lines = (f"{name} may play, with {trust} trust. Its token, shown only now:", f"  {token}")
    there = ("There, as root, write it into the file machine.token (mode 600), then:", f"  {command}")
    return Output({"name": name, "trust": trust.value, "token": token, "command": command}, (*lines, *there))


@said("list")
def list_() -> Output:
    """List the machines that play over HTTP."""
    from pydantic import TypeAdapter

    from deadheat.league.records.hosts import HttpMachine
    from deadheat.league.service.machines.access import machines

    columns: tuple[Column[HttpMachine], ...] = (
        Column("machine", lambda row: row.name, whole=True),
        Column("trust", lambda row: row.trust.value),
        Column("owner", lambda row: row.owner or "-"),
        Column("release", lambda row: row.release or "-"),
        Column("seen", lambda row: f"{row.last_seen_at:%Y-%m-%d %H:%M:%S}" if row.last_seen_at else "never"),
        Column("played again", lambda row: str(row.played_again)),
        Column("honest", lambda row: row.found or f"{row.honest:.2g}"),
        Column("token", lambda row: f"revoked {row.revoked_at:%Y-%m-%d %H:%M}" if row.revoked_at else "valid"),
    )
    with league() as session:
        rows = machines(session)
    shown = tabled(rows, columns, "No machine plays over HTTP. `deadheat machine add NAME` adds one.")
    return Output(TypeAdapter(list[HttpMachine]).dump_python(rows, mode="json"), shown.text)


@said()
def revoke(name: Name) -> Output:
    """End a machine's token at once; what it holds is played again elsewhere."""
    from deadheat.league.service.machines.access import revoke_machine

    with league() as session:
        given_back = revoke_machine(session, name)
    text = f"{name} may not play any more; given back: {given_back} series."
    return Output({"name": name, "given_back": given_back}, text)


def play_for(
    server: str, token_file: Path | None, slots: int, finish_seconds: float, alive_file: Path | None, *, insecure: bool
) -> None:
    """Run a worker that reaches its league over HTTP."""
    from deadheat.cli.operator.deployment import check_sandbox, slot_count
    from deadheat.workers.holding import LeagueAway
    from deadheat.workers.machine.client import DISMISSED, Dismissed

    parts = urlsplit(server)
    if token_file is None or parts.scheme not in ("http", "https") or not parts.hostname:
        fail("--server is an address such as https://league.example, and needs --token-file", USAGE)
    if parts.scheme == "http" and parts.hostname not in AT_HOME and not insecure:
        fail("over http:// others could read the token: use https://, or --insecure where nobody can listen", USAGE)
    if found := [f"DEADHEAT_{name}" for name in SECRETS if os.environ.get(f"DEADHEAT_{name}")]:
        fail(f"a machine that plays over HTTP must not hold the league's secrets: unset {', '.join(found)}", USAGE)
    context, link = _connected(server, token_file)
    check_sandbox(context.settings, waits=True)
    waiting = False
    try:
        while True:
            try:
                if link.begin(context.settings.image):
                    break
                note("another machine uses this token, or this one restarted a moment ago; trying again ...")
            except LeagueAway as error:
                if not waiting:
                    note(f"the league does not answer, trying again: {error}")
                waiting = True
            time.sleep(5)
    except Dismissed as error:
        fail(error.why, DISMISSED)
    tree = Tree(dict(os.environ), finish_seconds, alive_file, final=DISMISSED)
    where = [server, str(token_file.absolute())]
    for number in range(slots or slot_count(context.settings)):
        tree.add(f"player {number + 1}", ["machine-part", *where, str(number + 1)])
    tree.add("keeper", ["machine-part", *where, "0"])
    note(f"Playing for {server}. Stop with Ctrl-C.")
    tree.run()
    sys.exit(tree.ended_with)


def part(server: str, token_file: Path, number: int) -> None:
    """Be one process of a worker that plays over HTTP: its keeper, if the number is 0, or else a player."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    context, link = _connected(server, token_file, number)
    from deadheat.league import telemetry
    from deadheat.workers.keeper import Keeper
    from deadheat.workers.machine.client import Dismissed
    from deadheat.workers.machine.player import Player

    telemetry.begin_logs(context.settings)
    try:
        if number:
            Player(context, link).run()
        Keeper(context).run()
    except Dismissed as error:
        note(error.why)
        raise


def _connected(server: str, token_file: Path, number: int = 0) -> tuple[Context, OverHttp]:
    """Return the context of a process here, with its link."""
    from deadheat.workers.context import BOOT_ID, Linked
    from deadheat.workers.machine.client import OverHttp

    try:
        token = token_file.read_text("utf-8").strip()
    except OSError as error:
        fail(f"{token_file} cannot be read: {error.strerror}", USAGE)
    settings: Settings = read_settings().model_copy(update={"exhibitions": 0})
    link = OverHttp(server, token, BOOT_ID.read_text().strip(), number)
    return Linked(settings, link), link
