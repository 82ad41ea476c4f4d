"""`deadheat user`: roles, passwords, bans and house bots, set by the operator on the database's machine.

The database's library is imported late, because `--help` would otherwise wait most of a second for it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from deadheat.cli.author.submit import read_bot
from deadheat.cli.console import USAGE, fail, note
from deadheat.cli.local.bots import HOUSE, BadBot, locate, sources_of
from deadheat.cli.operator import read_settings
from deadheat.cli.output import Output, commands
from deadheat.engine.games import GAMES, unknown
from deadheat.league.errors import BadUpload, LeagueError
from deadheat.league.states import Role

if TYPE_CHECKING:
    from sqlmodel import Session

    from deadheat.league.records.bots import Version

MIN_PASSWORD = 10

group = typer.Typer(no_args_is_help=True, help="Manage accounts on the server: roles, passwords, bans, house bots.")
said = commands(group)

Name = Annotated[str, typer.Argument(help="The user's name.")]
ROLES = "The new role. Each includes those before it: " + ", ".join(f"{role} ({role.does})" for role in Role)


@said()
def role(name: Name, is_to_be: Annotated[Role, typer.Argument(help=f"{ROLES}.")]) -> Output:
    """Change a user's role."""
    from deadheat.league.service.rulings.closing import set_role

    with league() as session:
        person = set_role(session, name, is_to_be)
        return Output({"name": person.name, "role": person.role.value}, f"{person.name} is {person.role.value}.")


@said()
def password(name: Name) -> Output:
    """Set a user's password, asked for here; this ends all the user's sessions and tokens."""
    from deadheat.league.service.rulings.closing import reset_password

    secret: str = typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True)
    if len(secret) < MIN_PASSWORD:
        fail(f"A password has at least {MIN_PASSWORD} characters.")
    with league() as session:
        person = reset_password(session, name, secret)
        return Output({"name": person.name}, f"{person.name} has a new password; their sessions and tokens have ended.")


@said()
def ban(name: Name, reason: Annotated[str, typer.Option(help="The reason, public in the audit log.")]) -> Output:
    """Ban a user at once: no token, session or password works, and the user's bots leave all seasons."""
    from deadheat.league.service.rulings import closing

    with league() as session:
        person = closing.ban(session, closing.OPERATOR, name, reason)
        sentence = f"{person.name} is banned. Results stay; bots are withdrawn from all seasons."
        return Output({"name": person.name}, sentence)


@said()
def reopen(name: Name) -> Output:
    """Reopen a closed or banned account; after a ban, organisers reinstate its bots."""
    from deadheat.league.service.rulings import closing

    with league() as session:
        person = closing.reopen(session, closing.OPERATOR, name)
        return Output({"name": person.name}, f"{person.name} may sign in again.")


@said()
def house(
    game: Annotated[str, typer.Argument(help="The game.")],
    bots: Annotated[list[str], typer.Argument(metavar="BOT...", help="Bots that come with Deadheat, such as greedy.")],
) -> Output:
    """Upload bots that come with Deadheat under the author's name `house`, for a season's panel: house/greedy.

    They are built like all uploads. Those that are already there, byte for byte, are skipped.
    """
    from deadheat.league.service.jobs.builds import BUILDS
    from deadheat.workers.broker.queue import enqueue

    if game not in GAMES:
        fail(unknown(game), USAGE)
    try:
        uploaded = [(name, version) for name in bots if (version := _upload(game, name)) is not None]
    except BadBot as error:
        fail(str(error), USAGE)
    try:
        for _, version in uploaded:
            enqueue(BUILDS, version.id)
    except Exception:  # noqa: BLE001  brokers raise what they like
        note("The queue does not answer; the builds begin within a minute.")
    names = ", ".join(f"house/{name} version {version.number}" for name, version in uploaded)
    answer = {"uploaded": [{"bot": f"house/{name}", "version": version.number} for name, version in uploaded]}
    return Output(answer, f"Uploaded, to be built next: {names}." if uploaded else "All of them are there already.")


def _upload(game: str, name: str) -> Version | None:
    """Return the new version, or None if the bot has a version with the same file."""
    from deadheat.league.blobs import Blobs
    from deadheat.league.service.bots.bots import accept, add_version, bots_of, create_bot
    from deadheat.league.service.rulings import closing

    folder = locate(GAMES[game], f"{HOUSE}{name}")
    files = [folder / file for file in sources_of(folder)]
    filename, content = read_bot(files[0] if len(files) == 1 else folder)
    settings = read_settings()
    sha256 = hashlib.sha256(content).hexdigest()
    upload = accept(io.BytesIO(content), filename, sha256, settings, Blobs(settings.blobs))
    with league() as session:
        owner = closing.house(session)
        known = {bot.name: bot.id for bot in bots_of(session, owner) if bot.game == game}
        bot_id = known[name] if name in known else create_bot(session, owner, game, name).id
        try:
            return add_version(session, owner, bot_id, upload)
        except BadUpload as error:
            if error.reason != "same-file":
                raise
            return None


@contextmanager
def league() -> Iterator[Session]:
    """Open a transaction on the database named in the settings. Report each error in a sentence."""
    from deadheat.league.database import Database

    try:
        with closing(Database(read_settings())) as database, database.transaction() as session:
            yield session
    except LeagueError as error:
        fail(str(error))
