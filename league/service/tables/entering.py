"""Agents in seasons: who they are there, and how they get a rated match.

An agent enters a season by its first queueing, as a bot of its owner without a program. Each model that it says to be
is a version of this bot, so its games as one model never count for another. It is sat down at the oldest table of the
season at which nobody of its owner's sits, nor anybody's whom its owner has met often today, or at a new one.
"""

from collections import Counter

from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.language import _
from deadheat.league.database import now
from deadheat.league.errors import NameTaken, WrongState
from deadheat.league.service.bots.bots import AGENT, DAY, Upload, add_version, create_bot, must_be_active
from deadheat.league.service.course.states import past_its_ladder
from deadheat.league.service.ground.lookups import entry_of
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import must_take_part
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.tables.queueing import HOUSE_AFTER
from deadheat.league.service.tables.sitting import Agent, begin_if_full, must_have_room, new_table, open_seats
from deadheat.league.service.tables.turns import at_table
from deadheat.league.states import NOT_OVER, ON_LADDER, Players, SeatKind, TableState
from deadheat.league.tables import Bot, BotVersion, GameTable, Season, TableSeat

MOST_A_DAY = 12
"""Rated matches of two owners in a day: more would let two friends decide each other's ratings."""


def claim_of(agent: Agent) -> bytes:
    """Return the source of an agent's version, which is kept like any upload."""
    return f"{agent.model or agent.name}\n".encode()


class NotStored(Exception):
    """An agent may sit down once its claim is stored."""


def queue(
    session: Session, person: Person, season_id: int, agent: Agent, claim_sha256: str, is_stored: bool = True
) -> int:
    """Sit a person's agent down for a rated match, and return the table; where it sits already, if it does.
    `claim_sha256`: the name of `claim_of` it in the store.

    Raises:
        NotFound.
        NotStored: nothing else is in the way.
        WrongState: the season is one of programs, or not played now, or the agent does not take part.
        NameTaken: by a bot of this person with programs.
        TooMany, OverQuota, NotAdmitted, TooSoon: as for bots that enter, and for agents that sit down.
    """
    season = lock_season(session, season_id)
    if season.players is not Players.AGENTS:
        raise WrongState("programs", _("Programs play in this season: enter a bot instead."))
    if season.state not in ON_LADDER or past_its_ladder(season, now(session)):
        raise WrongState.of_season(season.state, _("agents play while it is %(states)s"), ON_LADDER)
    bot = _bot(session, person, season, agent)
    if (seated := session.exec(_seats_of(person, season.id, bot.id)).first()) is not None:
        return seated
    version = _version(session, person, bot, agent, claim_sha256)
    entry = entry_of(session, season.id, version.bot_id)
    if entry is None or entry.version_id != version.id:
        enter(session, person, season.id, version.bot_id, version.number)
    must_take_part(session, season.id, version.bot_id)
    must_be_active(session, session.get_one(Bot, version.bot_id))
    must_have_room(session, person, False)
    met = _met_today(session, person)
    for table_id in sorted(session.exec(_open_in(season.id))):
        table = at_table(session, table_id, locked=True)
        others = {seat.user_id for seat in table.seats.values() if seat.user_id is not None}
        if table.row.state is TableState.OPEN and all(each != person.id and met[each] < MOST_A_DAY for each in others):
            break
    else:
        row = new_table(session, season.game, season.variant, season.seats)
        row.season_id, row.state, row.pace_seconds = season.id, TableState.OPEN, float(season.move_seconds)
        row.nudge_at = now(session) + HOUSE_AFTER
        session.add(row)
        session.flush()
        session.add_all(TableSeat(table_id=row.id, seat=seat, kind=SeatKind.AGENT) for seat in range(row.seats))
        session.flush()
        table = at_table(session, row.id)
    seat = open_seats(table)[0]
    seat.user_id, seat.entrant_id, seat.name, seat.model = person.id, version.id, agent.name, agent.model
    session.flush()
    begin_if_full(session, table)
    if not is_stored:
        raise NotStored
    return table.row.id


def _bot(session: Session, owner: Person, season: Season, agent: Agent) -> Bot:
    """Return the bot as which an agent plays; make it, if it is new."""
    named = (Bot.owner_id == owner.id, Bot.game == season.game, Bot.name_key == agent.name.lower())
    bot = session.exec(select(Bot).where(*named, col(Bot.team_id).is_(None))).first()
    if bot is None:
        bot = session.get_one(Bot, create_bot(session, owner, season.game, agent.name).id)
        bot.is_agent, bot.plays_people = True, False
        session.flush()
    if not bot.is_agent:
        raise NameTaken("bot of yours", agent.name)
    return bot


def _version(session: Session, owner: Person, bot: Bot, agent: Agent, claim_sha256: str) -> BotVersion:
    """Return the version as which an agent plays; make it, if it is new."""
    same = select(BotVersion).where(BotVersion.bot_id == bot.id, BotVersion.source_sha256 == claim_sha256)
    if session.exec(same).first() is None:
        claim = Upload(f"{AGENT}.txt", len(claim_of(agent)), claim_sha256, AGENT, agent.model)
        add_version(session, owner, bot.id, claim)
    return session.exec(same).one()


IN_SEASON = col(GameTable.season_id) + 0
"""Not the column, so that no index of it is read: a season has ever more tables, and few are open, or one person's."""


def _seats_of(person: Person, season_id: int, bot_id: int) -> SelectOfScalar[int]:
    seated = select(GameTable.id).join(TableSeat).join(BotVersion, col(BotVersion.id) == TableSeat.entrant_id)
    theirs = (TableSeat.user_id == person.id, BotVersion.bot_id == bot_id, ~col(TableSeat.resigned))
    return seated.where(*theirs, season_id == IN_SEASON, col(GameTable.state).in_(NOT_OVER))


def _open_in(season_id: int) -> SelectOfScalar[int]:
    waiting = select(GameTable.id).where(season_id == IN_SEASON, GameTable.state == TableState.OPEN)
    return waiting.order_by(col(GameTable.nudge_at))  # as in the index of open tables, which SQLite then reads


def _met_today(session: Session, person: Person) -> Counter[int | None]:
    """Return how many rated matches agents of others have had with this person's in a day, by owner."""
    today = (col(GameTable.match_id).is_not(None), col(GameTable.created_at) > now(session) - DAY)
    mine = aliased(TableSeat)
    theirs = select(TableSeat.user_id).join(mine, col(mine.table_id) == TableSeat.table_id)
    theirs = theirs.join(GameTable, col(GameTable.id) == mine.table_id).where(mine.user_id == person.id, *today)
    return Counter(session.exec(theirs.where(TableSeat.user_id != person.id)))
