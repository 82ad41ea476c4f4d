"""`deadheat login`, `logout`, `whoami`: your own token, stored for the other commands."""

import re
import socket
import sys
from typing import Annotated

import typer

from deadheat.cli.console import NO_ANSWER, USAGE, fail, note
from deadheat.cli.output import Output, as_object, says
from deadheat.cli.server import profiles
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.client import Server, Token, asks, connect, league, logins, normal, private, resolved

MAX_PASSWORD = 256


@says
def login(
    name: Annotated[str, typer.Argument(help="Your user name; asked for if missing.")] = "",
    sign_up: Annotated[bool, typer.Option("--sign-up", help="Create the account first.")] = False,
    code: Annotated[str, typer.Option(help="With --sign-up: the invitation code, if the server asks for one.")] = "",
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow http:// to another machine, where others can read the password.")
    ] = False,
    server: Server = "",
    token: Token = "",
) -> Output:
    """Get an access token with your name and password and remember it (with --token: remember that one).

    The token is kept where this platform keeps settings, readable only by you. A token kept before is revoked.
    """
    old = logins().get(profiles.chosen.get())
    server = normal(server or (old.server if old else league()["server"]))
    if not (insecure or private(server)):
        what = "token" if token else "password"
        cure = "use its https:// address (or --insecure, if it has none)"
        fail(f"your {what} would be sent to {server} unencrypted: {cure}", USAGE)
    if token:
        server, token = resolved(server, token)
        with connect(server, token) as client:
            kept = profiles.Profile(server=server, name=client.me().name, token=token)
    else:
        kept = _issued(server, name, sign_up, code, password_stdin)
    _keep(kept)
    if old and old.server == server and old.token != kept.token:
        _revoke(old)
    answer = {"server": server, "name": kept.name, "profile": profiles.chosen.get()}
    return Output(answer, f"You are {kept.name} at {server}.")


@says
def logout() -> Output:
    """Forget the login and revoke its token; exit code 3 if the server cannot be reached."""
    old = logins().get(profiles.chosen.get()) or fail("you are not logged in")
    _keep(None)
    revoked = _revoke(old)
    if not revoked:
        note(f"but {old.server} did not revoke the token, which stays valid.", "Forgotten here,")
    ours = old.token_id is not None
    answer = {"server": old.server, "name": old.name, "revoked": revoked and ours}
    stays = "" if ours else " The token stays valid, because `login` did not create it."
    return Output(answer, f"You are logged out of {old.server}.{stays}") if revoked else Output(answer, code=NO_ANSWER)


@asks
def whoami(client: Client) -> Output:
    """Show your user name on the server."""
    person = client.me()
    answer = {"server": client.server, **as_object(person)}
    return Output(answer, f"{person.name} ({person.role}) at {client.server}")


def _issued(server: str, name: str, sign_up: bool, code: str, password_stdin: bool) -> profiles.Profile:
    if not (sys.stdin.isatty() or password_stdin):
        fail("no terminal to ask for a password: use --password-stdin, or DEADHEAT_TOKEN instead of a login", USAGE)
    if not name and password_stdin:
        fail("--password-stdin needs a name", USAGE)
    name = name or typer.prompt("Name", err=True)
    if password_stdin:
        password = sys.stdin.readline(MAX_PASSWORD + 2).rstrip("\r\n")
    else:
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=sign_up, err=True)
    label = "deadheat " + re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:40]
    with connect(server, "") as client:
        if sign_up:
            client.sign_up(name, password, code)
        issued = client.issue_token(name, password, label)
    return profiles.Profile(server=server, name=name, token=issued.token, token_id=issued.id)


def _keep(login: profiles.Profile | None) -> None:
    try:
        profiles.save(profiles.chosen.get(), login)
    except profiles.BadProfiles as error:
        fail(str(error))


def _revoke(login: profiles.Profile) -> bool:
    """Revoke a login's token. Return False if that may have failed, True also if another program made the token."""
    if login.token_id is None:
        return True
    try:
        with Client(login.server, login.token) as client:
            client.revoke_token(login.token_id)
    except Refused as error:
        return error.status in {401, 404}
    return True
