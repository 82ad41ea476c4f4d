"""What the commands that talk to a server share: server and token, refusals, and JSON.

Server and token come from the option, else the environment (DEADHEAT_SERVER, DEADHEAT_TOKEN), else the login of the
profile in use, else without a token the league that offered this wheel, or this machine's own server. A login's token
goes only to that login's server.

Exit codes (docs/reference/commands.md): 0 success; 1 the server or the match said no; 2 wrong usage; 3 no answer, or
not now, so the same command may succeed later; 130 Ctrl-C.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Annotated, Any, NoReturn

import typer

from deadheat.cli.console import INTERRUPTED, NO_ANSWER, REFUSED, ROOT, USAGE, fail, interruptible, note
from deadheat.cli.output import Command, Verb, says
from deadheat.cli.server import profiles
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.wire import Refused, address

LOCAL_SERVER = "http://127.0.0.1:8080"

Server = Annotated[
    str,
    typer.Option(
        envvar="DEADHEAT_SERVER", help="The server's address.", show_default="the login's, or this command's league"
    ),
]
Token = Annotated[
    str, typer.Option(envvar="DEADHEAT_TOKEN", help="Access token; prefer the environment or `deadheat login`.")
]
Most = Annotated[int, typer.Option(min=1, max=100_000, help="Show at most this many.")]


@cache
def league() -> Mapping[str, Any]:
    """Return what a wheel knows of the league that offered it: `server` (else this machine's own), and `languages`."""
    file = ROOT / "league.json"  # from `api.pages.game`
    return {"server": LOCAL_SERVER} | (json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {})


def logins() -> Mapping[str, profiles.Profile]:
    """Return the logins by profile. End the command if they cannot be read."""
    try:
        return profiles.load()
    except profiles.BadProfiles as error:
        fail(str(error))


def by_default() -> tuple[str, bool]:
    """Return the server that commands ask, and whether they have a token for it, as far as is known."""
    server = os.environ.get("DEADHEAT_SERVER", "")
    try:
        login = profiles.load().get(profiles.chosen.get())
        server = str(address(server or (login.server if login else league()["server"])))
    except (profiles.BadProfiles, Refused):
        return server or league()["server"], False
    return server, bool(os.environ.get("DEADHEAT_TOKEN") or (login and login.server == server))


def resolved(server: str, token: str) -> tuple[str, str]:
    """Return the server to ask and the token to use ("": none)."""
    login = None if server and token else logins().get(profiles.chosen.get())
    server = normal(server or (login.server if login else league()["server"]))
    if not token and login and login.server == server:
        token = login.token
    if not all("!" <= character <= "~" for character in token):
        fail("the token has invalid characters; was it copied completely?", USAGE)
    return server, token


def normal(server: str) -> str:
    """Return a server's address in normal form. End the command if it is not an address."""
    try:
        return str(address(server))
    except Refused as error:
        fail(f"{error} or {LOCAL_SERVER}", USAGE)


def private(server: str) -> bool:
    """Say whether data sent to an address stays private: the connection is encrypted, or stays on this machine."""
    url = address(server)
    host = (url.host or "").strip("[]")
    if url.scheme == "https" or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def connect(server: str, token: str = "") -> Iterator[Client]:
    """Open a client for one command. A refusal ends the command with the server's sentence."""
    try:
        with interruptible(), Client(*resolved(server, token)) as client:
            yield client
    except Refused as error:
        _refuse(error)
    except KeyboardInterrupt:
        note("stopped")
        raise typer.Exit(INTERRUPTED) from None


def asks(verb: Verb) -> Command:
    """Turn a function of a client into a command with --server, --token and --json."""
    return says(verb, {"server": (Server, ""), "token": (Token, "")}, connect)


def visits(verb: Verb) -> Command:
    """Turn a function of a client into a command with --server and --json, for what needs no token."""
    return says(verb, {"server": (Server, "")}, connect)


def own_name(server: str, token: str) -> str:
    """Return the name of the user, or "" without a token or with an invalid one."""
    server, token = resolved(server, token)
    if not token:
        return ""
    try:
        with Client(server, token) as client:
            return client.me().name
    except Refused as error:
        if error.status == 401:
            return ""
        _refuse(error)


def _refuse(error: Refused) -> NoReturn:
    """End the command with the server's sentence and a suggestion."""
    message = str(error)
    if error.code == "bad-token" and message.startswith("This requires"):  # otherwise the account is closed
        message += " `deadheat login` gets you a token." if message.endswith(".") else "; `deadheat login` gets a token"
    says_when = f" {error.retry_after_seconds} s" in message or "try again in" in message.lower()
    if error.retry_after_seconds and not says_when:
        message += f" Try again in {error.retry_after_seconds} s."
    fail(message, NO_ANSWER if error.passing else REFUSED)
