"""How many series may be open at a time, so that every slot has one to play.

The judging slots bound the series in progress, and as many may wait: planning is due again long before those are
played. More would only delay the influence of new results on the pairing. So of a season's ladder no more may wait than
its slots can begin within the next minute, at the pace of its latest series, and at least one for each slot.
"""

from __future__ import annotations

import math
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, literal, true
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.league.database import settings_of
from deadheat.league.service.series.hosts import NO_HOST, judging_slots, slots_judging, told_of
from deadheat.league.states import IN_PLAY, JobState
from deadheat.league.tables import Season, Series

OPEN_SERIES = 16
"""The number of series of one season that may wait or run while one slot judges."""

OPEN_PER_SLOT = 2
"""The number of series that each further slot adds: one that runs, and one that waits to follow it."""


def open_series_bound(session: Session) -> int:
    """Return the number of series of one season, gates aside, that may wait or run."""
    return bound_with(judging_slots(session))


def bound_with(slots: int) -> int:
    """Return the bound for that many judging slots."""
    return OPEN_SERIES + OPEN_PER_SLOT * max(0, slots - 1)


AHEAD = timedelta(minutes=1)
"""The time for which series are drawn ahead of their play."""

ENOUGH, LOOKED_AT = 3, 8
"""The fewest and the most of a season's latest series by which its pace is measured."""


def ladder_bound(session: Session, season_id: int) -> int:
    """Return the number of series of one season's ladder that may wait or run. Seasons in play share the slots."""
    session.flush()
    asked = {"season": season_id, **told_of(session, NO_HOST)}
    found = session.connection().execute(_pace(settings_of(session).judge_unfit), asked).all()
    slots: int = found[0].slots
    seasons: int = found[0].seasons
    most = bound_with(slots)
    took = [row.finished_at - row.started_at for row in found if row.started_at and row.finished_at]
    if len(took) < ENOUGH or not slots:
        return most
    mean = sum(took, timedelta(0)) / len(took)
    within = slots * AHEAD / max(mean, timedelta(milliseconds=1)) / max(1, seasons)
    return min(most, slots + max(slots, math.ceil(within)))


@cache
def _pace(judge_unfit: bool) -> Select[Any]:
    """Return the statement for the judging slots, the seasons in play, and the latest series of one of them; without
    any there is one row all the same.
    """
    latest, row = LATEST.subquery(), columns(literal(1).label("one")).subquery()
    slots = slots_judging(judge_unfit).scalar_subquery().label("slots")
    seasons = SEASONS.scalar_subquery().label("seasons")
    return columns(slots, seasons, latest).select_from(row.outerjoin(latest, true()))


LATEST = (
    select(Series.started_at, Series.finished_at)
    .where(col(Series.season_id) == bindparam("season"), col(Series.state) == JobState.DONE)
    .where(col(Series.finished_at).is_not(None))  # else the index is read through all that still wait
    .order_by(col(Series.finished_at).desc())
    .limit(LOOKED_AT)
)
SEASONS = select(func.count()).select_from(Season).where(col(Season.state).in_(IN_PLAY))
