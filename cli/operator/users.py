"""`deadheat user`: roles, passwords and bans, by the operator's own hand on the machine of the database.

The database's library is imported late: every other command would wait most of a second for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import fail, out
from cli.server.client import AsJson, print_json
from league.config import Settings
from league.errors import LeagueError
from league.states import Role

if TYPE_CHECKING:
    from league.database import Database

MIN_PASSWORD = 10

group = typer.Typer(no_args_is_help=True, help="Manage accounts on the server: roles, passwords, bans.")

Name = Annotated[str, typer.Argument(help="Whose.")]


def register(app: typer.Typer) -> None:
    """Add this module's group to `app`."""
    app.add_typer(group, name="user")


@group.command()
def role(
    name: Name,
    is_to_be: Annotated[Role, typer.Argument(help="The user's new role.")],
    as_json: AsJson = False,
) -> None:
    """Make a user an author, an organiser (runs seasons, rules), or an admin (also sees the operator's page)."""
    from league.service.rulings.operators import set_role

    with _league() as database, database.transaction() as session:
        person = set_role(session, name, is_to_be)
    if as_json:
        print_json({"name": person.name, "role": person.role.value})
    else:
        out.print(f"{person.name} is {person.role.value}.")


@group.command()
def password(name: Name, as_json: AsJson = False) -> None:
    """Set a user's password, asked for here; this ends all the user's sessions and tokens."""
    secret: str = typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True)
    if len(secret) < MIN_PASSWORD:
        fail(f"A password has at least {MIN_PASSWORD} characters.")
    from league.service.rulings.operators import reset_password

    with _league() as database, database.transaction() as session:
        person = reset_password(session, name, secret)
    if as_json:
        print_json({"name": person.name})
    else:
        out.print(f"{person.name} has a new password; their sessions and tokens have ended.")


@group.command()
def ban(
    name: Name,
    reason: Annotated[str, typer.Option(help="The reason, public in the audit log.")],
    as_json: AsJson = False,
) -> None:
    """Ban a user at once: no token, session or password works, and the user's bots leave all seasons."""
    from league.service.rulings.operators import ban_by_hand

    with _league() as database, database.transaction() as session:
        person = ban_by_hand(session, name, reason)
    if as_json:
        print_json({"name": person.name})
    else:
        out.print(f"{person.name} is banned. Results stay; bots are withdrawn from all seasons.")


@group.command()
def reopen(name: Name, as_json: AsJson = False) -> None:
    """Reopen a closed or banned account; organisers reinstate its bots."""
    from league.service.rulings.operators import reopen_by_hand

    with _league() as database, database.transaction() as session:
        person = reopen_by_hand(session, name)
    if as_json:
        print_json({"name": person.name})
    else:
        out.print(f"{person.name} may sign in again.")


@contextmanager
def _league() -> Iterator[Database]:
    """The database that the settings name; what is wrong is said in a sentence."""
    from league.database import Database

    database = Database(Settings())
    try:
        yield database
    except LeagueError as error:
        fail(str(error))
    finally:
        database.close()
