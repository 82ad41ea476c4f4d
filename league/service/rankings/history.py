"""Rating histories: one point per ranking for each bot with a place, thinned as a season ages to stay bounded.

A season's age is divided into spans of a power of two seconds, the shortest that give at most `MOST_POINTS` of them,
and the last ranking of each span is kept. When the season has grown so old that the spans double, every other point
goes. The season's first ranking stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy
from sqlalchemy import Select, bindparam
from sqlmodel import Session, col, delete, func, select

from deadheat.league.service.ground.steps import insert_rows
from deadheat.league.tables import BotVersion, RatingPoint, RatingSnapshot, Season

MOST_POINTS = 128
"""The most points of one bot in one season."""

FIGURES = ("elo", "low", "high", "rank")


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A rating and its 95 % interval, in Elo."""

    at: datetime
    version: int
    elo: float
    low: float
    high: float
    rank: int


def remember(session: Session, snapshot: RatingSnapshot) -> None:
    """Add a ranking that was just stored, and remove the points that it makes superfluous."""
    season_id = snapshot.season_id
    began_at, last = session.exec(BEGINNING, params={"season": season_id}).one()
    second = max(0, int((snapshot.created_at - began_at).total_seconds()))
    if last is not None:
        # The first point stays, and the last of each span; a ranking in the same second as the first point replaces it.
        width = span(second)
        stored = col(RatingPoint.second)
        of_season = col(RatingPoint.season_id) == season_id
        first = session.exec(select(func.min(stored)).where(of_season)).one()
        thinned = (of_season, (stored != first) | (stored == second))
        if span(last) != width:
            kept = select(func.max(stored)).where(of_season).group_by(stored // width)
            session.exec(delete(RatingPoint).where(*thinned, stored.not_in(kept)))
        session.exec(delete(RatingPoint).where(*thinned, stored >= second // width * width))
    rows = [
        {"season_id": season_id, "second": second} | {name: row[name] for name in ("bot_id", "version_id", *FIGURES)}
        for row in snapshot.standings["rows"]
        if row["rank"] is not None
    ]
    insert_rows(session, RatingPoint, rows)


BEGINNING = select(
    Season.created_at, select(func.max(RatingPoint.second)).where(RatingPoint.season_id == Season.id).scalar_subquery()
).where(col(Season.id) == bindparam("season"))


def history(session: Session, season_id: int, bot_id: int) -> list[HistoryPoint]:
    """Return a bot's ratings in a season, the oldest first."""
    began_at = session.get_one(Season, season_id).created_at
    figures = (RatingPoint.second, BotVersion.number, *(getattr(RatingPoint, name) for name in FIGURES))
    points = sqlalchemy.select(*map(col, figures)).join_from(
        RatingPoint, BotVersion, col(BotVersion.id) == RatingPoint.version_id
    )
    of_bot = (col(RatingPoint.season_id) == season_id, col(RatingPoint.bot_id) == bot_id)
    rows = session.connection().execute(points.where(*of_bot)).all()
    # Sort here: for an ordered result, SQLite would read the whole season in that order instead of the bot's index.
    return [
        HistoryPoint(began_at + timedelta(seconds=second), *values)
        for second, *values in sorted(rows, key=lambda row: row[0])
    ]


TREND_POINTS = 12
"""The most points of a bot's trend on the leaderboard."""


def trends(session: Session, season_id: int, bot_ids: Sequence[int]) -> dict[int, list[float]]:
    """Return the ratings of these bots at up to `TREND_POINTS` instants of the season, evenly spaced, the oldest first.
    This takes a few index look-ups for each bot, however long its history is.
    """
    connection, of_season = session.connection(), {"season": season_id}
    first, last = connection.execute(ENDS, of_season).one()
    if first is None or not bot_ids:
        return {}
    instants = {f"at{part}": first + (last - first) * part // (TREND_POINTS - 1) for part in range(TREND_POINTS)}
    seconds = {*connection.execute(BEFORE, of_season | instants).one()}
    elos: dict[int, list[float]] = {}
    chosen = {"seconds": list(seconds), "bots": list(bot_ids)}
    for bot_id, elo in connection.execute(AT_SECONDS, of_season | chosen).all():
        elos.setdefault(bot_id, []).append(elo)
    return elos


def _of_season(what: Any) -> Select[Any]:
    return sqlalchemy.select(what).where(col(RatingPoint.season_id) == bindparam("season"))


_stored = col(RatingPoint.second)
ENDS = sqlalchemy.select(*(_of_season(end(_stored)).scalar_subquery() for end in (func.min, func.max)))
BEFORE = sqlalchemy.select(
    *(
        _of_season(func.max(_stored)).where(_stored <= bindparam(f"at{part}")).scalar_subquery()
        for part in range(TREND_POINTS)
    )
)
AT_SECONDS = (
    sqlalchemy.select(col(RatingPoint.bot_id), col(RatingPoint.elo))
    .where(col(RatingPoint.season_id) == bindparam("season"), _stored.in_(bindparam("seconds", expanding=True)))
    .where(col(RatingPoint.bot_id).in_(bindparam("bots", expanding=True)))
    .order_by(_stored)
)


def span(second: int) -> int:
    """Return the length of the spans at that age, in seconds: a power of two."""
    return max(1, 1 << max(0, (second // MOST_POINTS).bit_length()))
