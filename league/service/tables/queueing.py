"""Queueing for a game: an agent says which game it wants to play, and gets a seat at a table.

It is an open table like any other, so whoever queues later, or takes a seat by the table's number, joins those who wait
there. The house's bots take the seats that are still open after `HOUSE_AFTER`, so there is always somebody to play. The
row says when (`nudge_at`, which nothing else reads of an open table): an agent that made a table to meet other people's
agents waits for them alone.

Two who queue at the same time must meet, so queueing is done under the lock of the places.
"""

from datetime import timedelta
from itertools import cycle
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, select

from deadheat.engine.games import GAMES
from deadheat.league.causes import Cause
from deadheat.league.database import now, surroundings
from deadheat.league.errors import OverQuota, TooMany, UnknownGame, WrongState
from deadheat.league.service.ground.steps import lock_season, set_values
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import HOUSE, lock_user
from deadheat.league.service.seasons.seasons import inherited
from deadheat.league.service.tables import rated
from deadheat.league.service.tables.places import abandon, agents_may_begin, lock_places
from deadheat.league.service.tables.sitting import (
    Agent,
    Wanted,
    begin_if_full,
    join_table,
    must_have_room_with_bots,
    open_seats,
    open_table,
)
from deadheat.league.service.tables.turns import AtTable, at_table, resign
from deadheat.league.states import NOT_OVER, Players, SeatKind, TableState, VersionState
from deadheat.league.tables import Bot, BotVersion, GameTable, TableSeat, User, UtcDateTime

HOUSE_AFTER = timedelta(seconds=30)
"""How long open seats are kept for other agents: long enough for two who come together, and nobody is bored by it."""

AGAIN_AFTER = timedelta(seconds=5)
"""The pause before another look at a table at which the house's bots cannot sit now."""

MOST_LOOKED_AT = 20
"""Tables that one who queues looks at, and that one look lets the house's bots sit at."""


def queue(session: Session, person: Person, game: str, agent: Agent) -> int:
    """Seat the agent at the oldest open table of the game that has no bots and no agent of this account, or at a new
    one, and return the table's id. An agent of this name that sits at a table of the game keeps its seat, so the
    request may be repeated.

    Raises:
        UnknownGame.
        TooMany, OverQuota: as many tables as an account may have at a time, or in an hour.
    """
    if game not in GAMES:
        raise UnknownGame(game, tuple(sorted(GAMES)))
    lock_places(session)
    lock_user(session, person)
    if (own := queued(session, person, game, agent.name)) is not None:
        return own
    for table_id in session.exec(TO_JOIN, params={"game": game, "person": person.id}).all():
        try:
            join_table(session, person, table_id, agent)
        except WrongState:  # somebody has taken the last seat by the table's number just now
            continue
        return table_id
    seats = inherited(game, None, Players.AGENTS)["seats"]
    wanted: list[Wanted] = ["open" if seat else "me" for seat in range(seats)]
    table_id = open_table(session, person, game, wanted, agent)
    set_values(session, GameTable, where={"id": table_id}, nudge_at=now(session) + HOUSE_AFTER)
    return table_id


def queued(session: Session, person: Person, game: str, name: str) -> int | None:
    """Return the newest table of the game that is not over and at which the person's agent of this name sits."""
    who = {"game": game, "person": person.id, "name": name}
    return session.connection().execute(QUEUED, who).scalars().first()


def found(session: Session, person: Person, name: str) -> list[tuple[int, str]]:
    """Return the tables, and their games, at which all seats of a match of this agent are taken and it is not over."""
    rows = session.connection().execute(FOUND, {"person": person.id, "name": name})
    return [(table_id, game) for table_id, game in rows]


def with_house_bots(session: Session) -> set[str]:
    """Return the games that the house's bots play."""
    found = {game: session.connection().execute(HOUSE_VERSIONS, {"game": game}).first() for game in GAMES}
    return {game for game, version in found.items() if version is not None}


def leave(session: Session, person: Person, game: str, name: str) -> None:
    """Leave the queue; a match that has begun is not left."""
    table_id = queued(session, person, game, name)
    if table_id is not None:
        lock_places(session)
        if at_table(session, table_id, locked=True).row.state is TableState.OPEN:
            resign(session, person, table_id, SeatKind.AGENT)


def without_players(session: Session) -> list[int]:
    """Return the tables with open seats that the house's bots may take now."""
    return list(session.exec(DUE, params={"at": now(session)}))


def put_off(session: Session, table_id: int) -> None:
    """Let the house's bots look at other tables first."""
    later = now(session) + AGAIN_AFTER
    set_values(session, GameTable, where={"id": table_id, "state": TableState.OPEN}, nudge_at=later)


def sit_in(session: Session, table_id: int) -> bool:
    """Let the house's bots take the open seats of a table; it then waits for a worker. An agent whose owner has enough
    tables with bots loses its seat to them, so that others need not wait for that. Return False if the table waits on:
    there is no house bot of the game, no place is free, or no agent's owner may have another table with bots.
    """
    is_room = agents_may_begin(session, lock_places(session)) > 0
    season_id = session.get_one(GameTable, table_id).season_id
    season = None if season_id is None else lock_season(session, season_id)
    table, at = at_table(session, table_id, locked=True), now(session)
    row = table.row
    if row.state is not TableState.OPEN or row.nudge_at > at:
        return False
    if season is not None:
        rated.give_up_absent(session, row, table.seats)
    if len(open_seats(table)) == row.seats:
        abandon(session, table_id, TableState.OPEN, Cause.LEFT)
        return False
    busy = _may_not_meet_bots(session, table)
    free = [seat for seat in table.seats.values() if seat.user_id is None or seat.user_id in busy]
    newest = dict(session.connection().execute(HOUSE_VERSIONS, {"game": row.game}).all())
    if season is not None:
        newest = rated.guests(session, season, newest)
        is_room = is_room and len(newest) >= len(free)  # no version plays itself in a season
    if not newest or not is_room or len(free) == row.seats:
        row.nudge_at = at + AGAIN_AFTER
        return False
    drawn = sorted(newest.values(), key=lambda _: surroundings(session).entropy(8))
    if season is not None:
        drawn = rated.nearest(session, season, [seat for seat in table.seats.values() if seat not in free], drawn)
    for seat, version_id in zip(free, cycle(drawn), strict=False):  # twice only if there are fewer bots than seats
        rated.empty(seat)
        seat.kind, seat.version_id = SeatKind.PROGRAM, version_id
    session.flush()
    begin_if_full(session, table)
    return True


def _may_not_meet_bots(session: Session, table: AtTable) -> set[int]:
    owners, busy = [seat.user_id for seat in table.seats.values() if seat.user_id is not None], set[int]()
    for owner in session.exec(select(User).where(col(User.id).in_(owners))).all():
        try:
            must_have_room_with_bots(session, Person.of(owner))
        except (TooMany, OverQuota):
            busy.add(owner.id)
    return busy


OPEN_HERE = (
    col(GameTable.game) == bindparam("game"),
    col(GameTable.state) == TableState.OPEN,
    col(GameTable.season_id).is_(None),
)
AT_TABLE = exists().where(col(TableSeat.table_id) == GameTable.id)
TO_JOIN = (
    select(GameTable.id)
    .where(*OPEN_HERE)
    .where(AT_TABLE.where(col(TableSeat.kind) == SeatKind.AGENT, col(TableSeat.user_id).is_(None)))
    .where(~AT_TABLE.where(col(TableSeat.kind) == SeatKind.PROGRAM))
    .where(~AT_TABLE.where(col(TableSeat.user_id) == bindparam("person")))
    .order_by(col(GameTable.id))
    .limit(MOST_LOOKED_AT)
)
OF_AGENT = (
    columns(col(GameTable.id), col(GameTable.game))
    .join(TableSeat, col(TableSeat.table_id) == GameTable.id)
    .where(col(TableSeat.user_id) == bindparam("person"), col(TableSeat.kind) == SeatKind.AGENT)
    .where(col(TableSeat.name) == bindparam("name"), ~col(TableSeat.resigned))
    .where(col(GameTable.state).in_(NOT_OVER))
    .order_by(col(GameTable.id).desc())
)
QUEUED = OF_AGENT.where(col(GameTable.game) == bindparam("game"), col(GameTable.season_id).is_(None))
FOUND = OF_AGENT.where(col(GameTable.state) != TableState.OPEN)
DUE = (
    select(GameTable.id)
    .where(col(GameTable.state) == TableState.OPEN, col(GameTable.nudge_at) <= bindparam("at", type_=UtcDateTime))
    .order_by(col(GameTable.nudge_at))
    .limit(MOST_LOOKED_AT)
)
HOUSE_VERSIONS: Any = (
    columns(col(BotVersion.bot_id), col(BotVersion.id))
    .join(Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .where(col(User.name) == HOUSE, col(Bot.game) == bindparam("game"))
    .where(col(Bot.plays_people), col(Bot.retired_at).is_(None), col(BotVersion.state) == VersionState.READY)
    .order_by(col(BotVersion.bot_id), col(BotVersion.number))
)
"""By bot, the newest version last. Those of the house need no season (see `sitting`)."""
