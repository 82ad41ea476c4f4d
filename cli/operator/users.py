"""`deadheat user`: roles, passwords and bans, set by the operator on the database's machine.

The database's library is imported late, because `--help` would wait most of a second for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from deadheat.cli.console import fail
from deadheat.cli.output import Output, says
from deadheat.league.config import Settings
from deadheat.league.errors import LeagueError
from deadheat.league.states import Role

if TYPE_CHECKING:
    from sqlmodel import Session

MIN_PASSWORD = 10

group = typer.Typer(no_args_is_help=True, help="Manage accounts on the server: roles, passwords, bans.")

Name = Annotated[str, typer.Argument(help="The user's name.")]


@group.command()
@says
def role(name: Name, is_to_be: Annotated[Role, typer.Argument(help="The user's new role.")]) -> Output:
    """Make a user an author, an organiser (runs seasons, rules), or an admin (also sees the operator's page)."""
    from deadheat.league.service.rulings.operators import set_role

    with _league() as session:
        person = set_role(session, name, is_to_be)
        return Output({"name": person.name, "role": person.role.value}, f"{person.name} is {person.role.value}.")


@group.command()
@says
def password(name: Name) -> Output:
    """Set a user's password, asked for here; this ends all the user's sessions and tokens."""
    from deadheat.league.service.rulings.operators import reset_password

    secret: str = typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True)
    if len(secret) < MIN_PASSWORD:
        fail(f"A password has at least {MIN_PASSWORD} characters.")
    with _league() as session:
        person = reset_password(session, name, secret)
        return Output({"name": person.name}, f"{person.name} has a new password; their sessions and tokens have ended.")


@group.command()
@says
def ban(name: Name, reason: Annotated[str, typer.Option(help="The reason, public in the audit log.")]) -> Output:
    """Ban a user at once: no token, session or password works, and the user's bots leave all seasons."""
    from deadheat.league.service.rulings import closing
    from deadheat.league.service.rulings.operators import OPERATOR

    with _league() as session:
        person = closing.ban(session, OPERATOR, name, reason)
        told = f"{person.name} is banned. Results stay; bots are withdrawn from all seasons."
        return Output({"name": person.name}, told)


@group.command()
@says
def reopen(name: Name) -> Output:
    """Reopen a closed or banned account; organisers reinstate its bots."""
    from deadheat.league.service.rulings import closing
    from deadheat.league.service.rulings.operators import OPERATOR

    with _league() as session:
        person = closing.reopen(session, OPERATOR, name)
        return Output({"name": person.name}, f"{person.name} may sign in again.")


@contextmanager
def _league() -> Iterator[Session]:
    """Open a transaction on the database that the settings name; report errors in a sentence."""
    from deadheat.league.database import Database

    try:
        with closing(Database(Settings())) as database, database.transaction() as session:
            yield session
    except LeagueError as error:
        fail(str(error))
