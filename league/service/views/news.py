"""News: series in progress, and uploads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy
from sqlalchemy import Integer, bindparam
from sqlmodel import Session, col, func, select

from deadheat.league.records import from_row
from deadheat.league.service.bots.bots import active
from deadheat.league.service.jobs.exhibitions import playable
from deadheat.league.service.series.live import live_matches
from deadheat.league.service.series.privacy import shown_series
from deadheat.league.states import JobState, VersionState
from deadheat.league.tables import Bot, BotVersion, Match, Participant, RatingPoint, Season, Series, Team, User


@dataclass(frozen=True, slots=True)
class NewVersion:
    """An upload, for lists of new versions."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    game: str
    id: int
    number: int
    state: VersionState
    language: str
    size_bytes: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunningSeries:
    """A series that a worker plays now. `bots`: ids and names, in the first match's seats, as AUTHOR/NAME if two have
    the same name; `live_match_id`: the one that can be watched at this moment, if any.
    """

    id: int
    season_id: int
    season: str
    game: str
    started_at: datetime | None
    matches: int
    first_match_id: int
    bots: tuple[tuple[int, str], ...]
    live_match_id: int | None = None


def running_series(session: Session, limit: int) -> list[RunningSeries]:
    """List running series, the latest first."""
    running = session.exec(RUNNING, params={"most": limit}).all()
    if not running:
        return []
    of_these = col(Match.series_id).in_([series.id for series, _ in running])
    matches = select(Match.series_id, func.min(Match.id), func.count()).where(of_these).group_by(col(Match.series_id))
    counted = {series_id: (first, count) for series_id, first, count in session.exec(matches)}
    seated = (
        select(Participant.match_id, Bot.id, Bot.name, User.name)
        .join(Bot, col(Bot.id) == Participant.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(col(Participant.match_id).in_([first for first, _ in counted.values()]))
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    playing: dict[int, list[tuple[int, str, str]]] = {}
    for match_id, bot_id, name, author in session.exec(seated):
        playing.setdefault(match_id, []).append((bot_id, name, author))
    live = live_matches(session, list(counted))
    return [
        from_row(
            RunningSeries,
            series,
            season=season.name,
            game=season.game,
            matches=count,
            first_match_id=first,
            bots=told_apart(playing[first]),
            live_match_id=live.get(series.id),
        )
        for series, season in running
        for first, count in (counted[series.id],)
    ]


def told_apart(playing: Sequence[tuple[int, str, str]]) -> tuple[tuple[int, str], ...]:
    """Return ids and names of bots, of which their authors' are known, too."""
    ids = {name: {other for other, namesake, _ in playing if namesake == name} for _, name, _ in playing}
    return tuple((bot, f"{author}/{name}" if len(ids[name]) > 1 else name) for bot, name, author in playing)


RUNNING = (
    select(Series, Season)
    .join(Season, col(Season.id) == Series.season_id)
    .where(Series.state == JobState.RUNNING, shown_series())
    .order_by(col(Series.started_at).desc(), col(Series.id).desc())
    .limit(bindparam("most", type_=Integer))
)


@dataclass(frozen=True, slots=True)
class ReadyBot:
    """A bot that can play, with its newest ready version, and its rating in its newest season, if any."""

    bot_id: int
    bot: str
    author: str
    number: int
    elo: float | None


def ready_bots(session: Session, game: str, limit: int) -> list[ReadyBot]:
    """List bots against which people may play: the strongest first, and unrated ones last, the newest first."""
    newest = func.max(BotVersion.number)
    rated = (
        select(RatingPoint.elo)
        .where(RatingPoint.bot_id == Bot.id)
        .order_by(col(RatingPoint.season_id).desc(), col(RatingPoint.second).desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = (
        sqlalchemy.select(col(Bot.id), col(Bot.name), col(User.name), newest, rated)
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .where(col(Bot.game) == game, col(Bot.plays_people).is_(True), active(), *playable())
        .group_by(col(Bot.id), col(Bot.name), col(User.name))
        .order_by(rated.desc().nulls_last(), func.max(BotVersion.id).desc())
        .limit(limit)
    )
    return [ReadyBot(*row) for row in session.connection().execute(statement)]


def newest_versions(
    session: Session, limit: int, *, game: str | None = None, before: int | None = None
) -> list[NewVersion]:
    """Return the newest uploads of a game, or of all games (None), with an id below `before`."""
    statement = _newest(game is not None, before is not None)
    found = session.connection().execute(statement, {"game": game, "before": before, "most": limit})
    return [NewVersion(*row) for row in found]


@cache
def _newest(of_game: bool, older: bool) -> Any:
    of_bot = (col(Bot.id), col(Bot.name), col(User.name), col(Team.name), col(Bot.game))
    of_version = ("id", "number", "state", "language", "size_bytes", "created_at")
    statement = (
        sqlalchemy.select(*of_bot, *(getattr(BotVersion, name) for name in of_version))
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .join(Team, col(Team.id) == col(Bot.team_id), isouter=True)
        .order_by(col(BotVersion.id).desc())
        .limit(bindparam("most", type_=Integer))
    )
    if of_game:
        statement = statement.where(col(Bot.game) == bindparam("game"))
    return statement.where(col(BotVersion.id) < bindparam("before")) if older else statement
