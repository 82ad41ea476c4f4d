"""A bot's seasons and those that it could enter, for its author, who may also change the bot."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypedDict, Unpack, cast

from sqlalchemy import and_
from sqlmodel import Session, col, func, or_, select

from deadheat.league.database import now
from deadheat.league.errors import NameTaken, NotAdmitted, TooMany
from deadheat.league.records.bots import Bot as BotInfo
from deadheat.league.records.contests import Contest
from deadheat.league.service.bots.bots import bot_info, own_bot
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import flush_unless_taken, lock_enterable, storable
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import give_bot
from deadheat.league.service.seasons.absence import leave_everywhere
from deadheat.league.service.seasons.admission import check_admission
from deadheat.league.service.views.contests import at_gate
from deadheat.league.states import ENTERABLE, Absence, Players, SeasonState
from deadheat.league.tables import AbsentEntry, Bot, BotVersion, Entry, Season

MOST_SEASONS = 50


@dataclass(frozen=True, slots=True)
class Participation:
    """A season of the bot's game. `version`: None if the bot is not in it. `enters`: the version that enters it once it
    is ready. `open`: versions may be chosen now. `refused`: why the entry rules keep the bot out, if it is not in the
    season. `waits_for_panel`: no version has enough points against the season's panel.
    """

    season_id: int
    season: str
    state: SeasonState
    open: bool
    refused: str
    version: int | None
    enters: int | None
    follows: bool
    waits_for_panel: bool
    absence: Absence | None
    reason: str
    rests: str
    challenge: Contest | None  # the newest at the entry's gate


def participation(session: Session, owner: Person, bot_id: int) -> list[Participation]:
    """Return the seasons that the bot is in, and those that it may still enter, the newest first. Raises NotFound."""
    return _seasons(session, owner, own_bot(session, owner, bot_id))


def prospects(session: Session, owner: Person, game: str) -> list[Participation]:
    """Return the seasons that a new bot of this author alone may enter, the newest first, as `participation` does."""
    bot = Bot(id=0, owner_id=owner.id, game=game, name="", name_key="", created_at=now(session))
    return _seasons(session, owner, bot)


def _seasons(session: Session, owner: Person, bot: Bot) -> list[Participation]:
    statement = (
        select(Season, Entry, BotVersion.number, AbsentEntry)
        .join(Entry, and_(col(Entry.season_id) == Season.id, col(Entry.bot_id) == bot.id), isouter=True)
        .join(BotVersion, col(BotVersion.id) == Entry.version_id, isouter=True)
        .join(
            AbsentEntry,
            and_(col(AbsentEntry.season_id) == Season.id, col(AbsentEntry.bot_id) == bot.id),
            isouter=True,
        )
        .where(Season.game == bot.game, or_(col(Entry.id).is_not(None), col(Season.state).in_(ENTERABLE)))
        .where(or_(col(Entry.id).is_not(None), Season.players == Players.PROGRAMS))
        .order_by(col(Season.id).desc())
        .limit(MOST_SEASONS)
    )
    rows = cast("Iterable[tuple[Season, Entry | None, int | None, AbsentEntry | None]]", session.exec(statement))
    enters = select(BotVersion.enters_id, func.max(BotVersion.number)).where(BotVersion.bot_id == bot.id)
    enters = enters.where(col(BotVersion.enters_id).is_not(None)).group_by(col(BotVersion.enters_id))
    wished = dict(session.exec(enters).all())
    return [
        Participation(
            season_id=season.id,
            season=season.name,
            state=season.state,
            open=season.state in ENTERABLE,
            refused=_refusal(session, owner, season, bot) if entry is None else "",
            version=number,
            enters=wished.get(season.id),
            follows=entry is not None and entry.follows,
            waits_for_panel=entry is not None and entry.waits_for_panel,
            absence=None if absent is None else absent.absence,
            reason="" if absent is None else absent.reason,
            rests="" if entry is None else entry.rest_reason,
            challenge=next(iter(at_gate(session, season.id, bot.id, 1, running=True)), None) if entry else None,
        )
        for season, entry, number, absent in rows
    ]


def _refusal(session: Session, owner: Person, season: Season, bot: Bot) -> str:
    try:
        check_admission(session, owner, season, bot)
    except (NotAdmitted, TooMany) as error:
        return str(error)
    return ""


class AbsentBot(NamedTuple):
    """An entered bot that does not take part, or no longer does."""

    bot_id: int
    bot: str
    absence: Absence


def absent_bots(session: Session, season_id: int) -> list[AbsentBot]:
    """List the entered bots of a season that do not take part, by name; organisers' reasons are in the audit log."""
    absent = select(AbsentEntry.bot_id, Bot.name, AbsentEntry.absence).join(Bot, col(Bot.id) == AbsentEntry.bot_id)
    absent = absent.where(AbsentEntry.season_id == season_id).order_by(col(Bot.name_key), col(Bot.id))
    return [AbsentBot(bot_id, bot, Absence(absence)) for bot_id, bot, absence in session.exec(absent)]


# Changes to a bot by its author: its owner, name and description, and whether it is retired.
# A retired bot is withdrawn from every season that its author may still leave, accepts no uploads, enters no season,
# and disappears from lists of opponents. Its results count, and its pages stay. In a frozen season or its finals it
# plays on to the end.


class BotChange(TypedDict, total=False):
    """Changes to a bot; omitted fields do not change. `team_id`: None to return it to its creator."""

    team_id: int | None
    name: str
    description: str
    retired: bool
    plays_people: bool


def change_bot(session: Session, owner: Person, bot_id: int, **change: Unpack[BotChange]) -> BotInfo:
    """Change a bot of the caller or of one of the caller's teams. Raises NameTaken: by another of their bots in the
    game; else as `league.service.people.teams.give_bot` does.
    """
    bot = own_bot(session, owner, bot_id)
    if "retired" in change and change["retired"] is (bot.retired_at is None):
        if retired := change["retired"]:
            lock_enterable(session)  # seasons precede bots in the order of locks
        bot.retired_at = now(session) if retired else None
        session.flush()
        record(session, owner.name, "bot-retired" if retired else "bot-returned", f"bot/{bot.id}")
        if retired:
            leave_everywhere(session, owner, [bot.id])
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
