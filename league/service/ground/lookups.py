"""Look-ups that many use cases share: a season's rankings, a bot's entry, a page of a list, a machine's number."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import Session, col, select

from deadheat.league.errors import NotFound
from deadheat.league.service.ground.steps import storable
from deadheat.league.tables import Bot, Entry, Machine, RatingSnapshot, Team, User

PUBLISHED = select(RatingSnapshot.season_id).where(col(RatingSnapshot.final).is_(True))
"""The seasons whose standings are published and therefore final."""


def newest_ranking(session: Session, season_id: int) -> RatingSnapshot | None:
    """Return the season's newest ranking, final or not."""
    rankings = select(RatingSnapshot).where(RatingSnapshot.season_id == season_id)
    return session.exec(rankings.order_by(col(RatingSnapshot.id).desc()).limit(1)).first()


def final_ranking(session: Session, season_id: int) -> RatingSnapshot | None:
    """Return the season's published standings."""
    final = (RatingSnapshot.season_id == season_id, col(RatingSnapshot.final).is_(True))
    return session.exec(select(RatingSnapshot).where(*final)).first()


def entry_of(session: Session, season_id: int, bot_id: int) -> Entry | None:
    return session.exec(select(Entry).where(Entry.season_id == season_id, Entry.bot_id == bot_id)).first()


def existing_entry(session: Session, season_id: int, bot_id: int) -> Entry:
    """Return the bot's entry in the season. Raises NotFound."""
    entry = entry_of(session, season_id, bot_id)
    if entry is None:
        raise NotFound.entry(bot_id)
    return entry


def named(text: str) -> ColumnElement[bool]:
    """Return the condition that the text is part of the name of a bot, its author or its team."""
    keys = (col(Bot.name_key), col(User.name_key), col(Team.name_key))
    return or_(*(key.contains(storable(text).strip().lower(), autoescape=True) for key in keys))


def newest_first(statement: Any, number: Any, before: int | None, limit: int) -> Any:
    """Return the statement for a page of a list, which begins after the row with the number `before`."""
    if before is not None:
        statement = statement.where(col(number) < before)
    return statement.order_by(col(number).desc()).limit(limit)


def machine_numbers(session: Session, workers: Collection[str | None]) -> dict[str | None, int]:
    """Return the public number of the machine of each worker (`NAME:PID`); those without one are left out."""
    names = {worker: worker.rpartition(":")[0] for worker in workers if worker}
    if not names:
        return {}
    known = select(Machine.name, Machine.id).where(col(Machine.name).in_(set(names.values())))
    numbers = dict(session.exec(known).all())
    return {worker: numbers[name] for worker, name in names.items() if name in numbers}
