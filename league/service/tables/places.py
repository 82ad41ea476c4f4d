"""The places of a deployment for tables with programs, and the queue for them. A table's place is free as soon as
nobody sits there but programs.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import text
from sqlmodel import Session, col, func, select

from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.errors import NoPlace
from deadheat.league.service.ground.steps import move, set_values
from deadheat.league.service.tables import rated
from deadheat.league.states import TableState
from deadheat.league.tables import GameTable, TableSeat

MOST_WAITING = 20
"""The most people who wait for a place: at some minutes for a match, more would wait for longer than they stay."""

PLACES_LOCK = 7_341_555
"""PostgreSQL advisory lock of `lock_places`; SQLite's writers queue anyway."""

QUEUE_SECONDS = 600
"""How long a person may wait for a worker once there is a place. For a place, it is as long as a match may take."""

NEW = (col(GameTable.state) == TableState.QUEUED, col(GameTable.attempt) == 0)
PLAYING = select(func.count()).where(col(GameTable.open_place) > 0, col(GameTable.attempt) > 0)
OF_AGENTS = select(func.count()).where(col(GameTable.pace_seconds).is_not(None), col(GameTable.open_place) > 0)
AGENTS_PLAY = OF_AGENTS.where(col(GameTable.attempt) > 0)
WAITING = select(col(GameTable.id), col(GameTable.pace_seconds)).where(*NEW).order_by(col(GameTable.id))
QUEUE = (
    select(GameTable.id, GameTable.attempt, GameTable.queued_at)
    .where(GameTable.state == TableState.QUEUED)
    .order_by(col(GameTable.id))
)
TAKEN = select(GameTable.open_place).where(col(GameTable.open_place).is_not(None))


def free_place(session: Session, agents: bool = False) -> int:
    """Return a free place, or else a number of the queue; of both, `agents` may use at most half. Raises NoPlace."""
    limit = settings_of(session).exhibitions
    if agents and session.exec(OF_AGENTS).one() >= (limit + MOST_WAITING) // 2:
        raise NoPlace(limit)
    taken = set(session.exec(TAKEN).all())
    free = set(range(1, limit + MOST_WAITING + 1 if limit else 1)) - taken
    if not free:
        raise NoPlace(limit)
    return min(free)


def places_left(session: Session) -> int:
    """Return how many more people may begin to play now. A match that a worker gave back keeps its place."""
    return settings_of(session).exhibitions - session.exec(PLAYING).one()


def may_begin(session: Session, left: int) -> list[int]:
    """Return the new matches for which these places are free: people's come first, and agents' use at most half of the
    deployment's places. Places are locked.
    """
    waiting = session.exec(WAITING).all()
    of_agents = max(0, _left_to_agents(session))
    people = [table_id for table_id, pace_seconds in waiting if pace_seconds is None]
    agents = [table_id for table_id, pace_seconds in waiting if pace_seconds is not None]
    return [*people, *agents[:of_agents]][: max(0, left)]


def agents_may_begin(session: Session, left: int) -> int:
    """Return how many more tables of agents, beside those that wait already, may begin with so many places free."""
    return min(left, _left_to_agents(session)) - len(session.exec(WAITING).all())


def _left_to_agents(session: Session) -> int:
    return max(1, settings_of(session).exhibitions // 2) - session.exec(AGENTS_PLAY).one()


def lock_places(session: Session) -> int:
    """Return `places_left` and lock it until the transaction ends. Call this before using or changing the number:
    otherwise a place that another person has just taken seems to be one that its owner left unused.
    The order everywhere is: places, seasons, bots, teams, the person (`lock_user`), the table. Who may abandon a table
    locks places first. Only `touch_log` locks the season of a full table after it: without places, nobody who has
    locked a season waits for such a table.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text(f"SELECT pg_advisory_xact_lock({PLACES_LOCK})"))
    return places_left(session)


def let_next_in(session: Session) -> None:
    """Let the next sweep send messages about as many new matches as places are free, because a match has ended or left
    the queue. The last of them could not begin before: its wait for a worker begins now. Places are locked.
    """
    left, at = max(0, places_left(session)), now(session)
    chosen = may_begin(session, left)
    for row_id in chosen:
        set_values(session, GameTable, where={"id": row_id, "state": TableState.QUEUED}, nudge_at=at)
    for row_id in chosen[-1:]:
        set_values(session, GameTable, where={"id": row_id, "state": TableState.QUEUED}, queued_at=at)


def abandon(session: Session, table_id: int, before: TableState, cause: str, *conditions: Any) -> bool:
    """Abandon the match. Return False if it is not in that state."""
    lock_places(session)
    closed = {"open_place": None, "waits_since_at": None, "cause": cause, "lease_until": None}
    after, at = TableState.ABANDONED, now(session)
    abandoned = move(session, GameTable, table_id, before, after, *conditions, **closed, finished_at=at)
    if abandoned:
        free_seats(session, table_id)
        rated.drop(session, table_id, cause)
    return abandoned


def free_seats(session: Session, table_id: int) -> None:
    """Free everybody at a table that is over, and its place for the next one. Places are locked."""
    set_values(session, TableSeat, where={"table_id": table_id}, **NOT_ASKED, open_user_id=None, reply=None)
    let_next_in(session)


NOT_ASKED: dict[str, None] = {"ready_at": None, "delivered_at": None}


def give_up_waiting(session: Session) -> None:
    """Free the places of people whose matches no worker took in time. A match of a season that has begun, or that an
    agent has left, waits on: it has a result.
    """
    at, begin, longest = now(session), may_begin(session, lock_places(session)), settings_of(session).exhibition_seconds
    for table_id, attempt, queued_at in session.exec(QUEUE).all():
        has_place = attempt > 0 or table_id in begin
        is_late = at > queued_at + timedelta(seconds=QUEUE_SECONDS if has_place else longest)
        if is_late and not rated.must_end(session, session.get_one(GameTable, table_id)):
            abandon(session, table_id, TableState.QUEUED, Cause.NO_WORKER)
