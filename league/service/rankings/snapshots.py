"""Thins out old standings: keeping all would take gigabytes a day if a large field is ranked often.

Every ranking keeps its row, with its instant, the log's hash and its configuration: that is enough to recompute it from
the log of that time. It keeps its standings if it is published, if the finalists were chosen by it, if it is one of the
newest (`WHOLE`), the last of an hour of the past day, or the last of a day. All other standings become `{}`. The points
that bots' pages draw are kept separately (`league.service.rankings.history`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select

from deadheat.league.database import now
from deadheat.league.service.ground.steps import set_values
from deadheat.league.tables import RatingSnapshot, Season

WHOLE = 10
"""How many of the newest rankings keep their standings, because somebody may be paging through them."""

HOURLY = timedelta(days=1)
"""How long the last ranking of each hour is kept; after that, the last of each day."""

MOST_AT_ONCE = 200
"""The most rankings thinned out when one is added; only leagues older than this module have more."""


def thin(session: Session, season_id: int) -> None:
    """Empty the standings of rankings that need not be kept. Called whenever one is added."""
    rankings = session.exec(STILL_WHOLE, params={"season": season_id}).all()
    keep = kept(rankings, now(session), WHOLE)
    gone = [snapshot_id for snapshot_id, _ in rankings if snapshot_id not in keep]
    gone = [snapshot_id for snapshot_id in gone if snapshot_id != _qualifying(session, season_id)][:MOST_AT_ONCE]
    if gone:
        set_values(session, RatingSnapshot, col(RatingSnapshot.id).in_(gone), standings={}, whole=False)


STILL_WHOLE = (
    select(RatingSnapshot.id, RatingSnapshot.created_at)
    .where(col(RatingSnapshot.season_id) == bindparam("season"))
    .where(col(RatingSnapshot.whole).is_(True), col(RatingSnapshot.final).is_(False))
    .order_by(col(RatingSnapshot.id))
)


def kept(rankings: Sequence[tuple[int, datetime]], at: datetime, newest: int) -> set[int]:
    """Return those of the rankings, given the oldest first, that keep their standings at that instant."""
    last: dict[tuple[object, ...], int] = {}
    for snapshot_id, created_at in rankings:
        day = (created_at.date(),)
        last[day] = snapshot_id
        if at - created_at < HOURLY:
            last[*day, created_at.hour] = snapshot_id
    return {*last.values(), *(snapshot_id for snapshot_id, _ in rankings[-newest:])}


def _qualifying(session: Session, season_id: int) -> int | None:
    """Return the ranking by which the finalists were chosen: the newest at that time."""
    qualified_at = session.exec(select(Season.qualified_at).where(Season.id == season_id)).one()
    if qualified_at is None:
        return None
    before = (RatingSnapshot.season_id == season_id, col(RatingSnapshot.created_at) <= qualified_at)
    return session.exec(select(func.max(RatingSnapshot.id)).where(*before)).one()
