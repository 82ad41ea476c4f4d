"""Changes to a bot by its author: its owner, name and description, and whether it is retired.

A retired bot is withdrawn from every season that its author may still leave, accepts no uploads, enters no season, and
disappears from lists of opponents. Its results count, and its pages stay. In a frozen season or its finals it plays on
to the end.
"""

from typing import TypedDict, Unpack

from sqlmodel import Session

from deadheat.league.database import now
from deadheat.league.errors import NameTaken
from deadheat.league.records.bots import Bot as BotInfo
from deadheat.league.service.bots.bots import bot_info, own_bot
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import flush_unless_taken, lock_enterable
from deadheat.league.service.ground.storable import storable
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import give_bot
from deadheat.league.service.seasons.absence import withdraw_everywhere


class BotChange(TypedDict, total=False):
    """Changes to a bot; omitted fields do not change. `team_id`: None to return it to its creator."""

    team_id: int | None
    name: str
    description: str
    retired: bool
    plays_people: bool


def change_bot(session: Session, owner: Person, bot_id: int, **change: Unpack[BotChange]) -> BotInfo:
    """Change a bot of the caller or of one of the caller's teams.

    Raises:
        NotFound, NotCaptain, WrongState: see `league.service.people.teams.give_bot`.
        NameTaken: by another bot of the author or the team in the same game.
    """
    bot = own_bot(session, owner, bot_id)
    if "retired" in change and change["retired"] is (bot.retired_at is None):
        if retired := change["retired"]:
            lock_enterable(session)  # seasons precede bots in the order of locks
        bot.retired_at = now(session) if retired else None
        session.flush()
        record(session, owner.name, "bot-retired" if retired else "bot-returned", f"bot/{bot.id}")
        if retired:
            withdraw_everywhere(session, owner, [bot.id])
    if "name" in change and change["name"] != bot.name:
        before, bot.name, bot.name_key = bot.name, change["name"], change["name"].lower()
        flush_unless_taken(session, NameTaken("bot of yours", bot.name))
        record(session, owner.name, "bot-renamed", f"bot/{bot.id}", {"from": before, "to": bot.name})
    if "description" in change:
        bot.description = storable(change["description"])
    if "plays_people" in change:
        bot.plays_people = change["plays_people"]
    if "team_id" in change:
        give_bot(session, owner, bot, change["team_id"])
    session.flush()
    return bot_info(session, bot_id)
