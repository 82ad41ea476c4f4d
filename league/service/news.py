"""What is going on: series that are being played, and uploads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy
from sqlmodel import Session, col, func, select

from league.states import SeriesState, VersionState
from league.tables import Bot, BotVersion, Match, Participant, Season, Series, User


@dataclass(frozen=True, slots=True)
class NewVersion:
    """An upload, for lists of what is new."""

    bot_id: int
    bot: str
    author: str
    game: str
    number: int
    state: VersionState
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunningSeries:
    """Matches that a worker plays now. `bots`: ids and names, in the first match's seats."""

    id: int
    season_id: int
    season: str
    game: str
    started_at: datetime | None
    matches: int
    first_match_id: int
    bots: tuple[tuple[int, str], ...]


def running_series(session: Session, limit: int) -> list[RunningSeries]:
    """Those that began last first."""
    statement = (
        select(Series, Season)
        .join(Season, col(Season.id) == Series.season_id)
        .where(Series.state == SeriesState.RUNNING)
        .order_by(col(Series.started_at).desc())
        .limit(limit)
    )
    running = session.exec(statement).all()
    of_these = col(Match.series_id).in_([series.id for series, _ in running])
    matches = select(Match.series_id, func.min(Match.id), func.count()).where(of_these).group_by(col(Match.series_id))
    counted = {series_id: (first, count) for series_id, first, count in session.exec(matches)}
    seated = (
        select(Participant.match_id, Bot.id, Bot.name)
        .join(Bot, col(Bot.id) == Participant.bot_id)
        .where(col(Participant.match_id).in_([first for first, _ in counted.values()]))
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    bots: dict[int, tuple[tuple[int, str], ...]] = {}
    for match_id, bot_id, name in session.exec(seated):
        bots[match_id] = (*bots.get(match_id, ()), (bot_id, name))
    return [
        RunningSeries(series.id, season.id, season.name, season.game, series.started_at, count, first, bots[first])
        for series, season in running
        for first, count in (counted[series.id],)
    ]


def newest_versions(session: Session, game: str | None, limit: int) -> list[NewVersion]:
    """The newest uploads of a game, or (None) of all."""
    chosen = [getattr(BotVersion, name) for name in ("number", "state", "created_at")]
    statement = (
        sqlalchemy.select(col(Bot.id), col(Bot.name), col(User.name), col(Bot.game), *chosen)
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .order_by(col(BotVersion.id).desc())
        .limit(limit)
    )
    if game is not None:
        statement = statement.where(col(Bot.game) == game)
    return [NewVersion(*row) for row in session.connection().execute(statement)]
