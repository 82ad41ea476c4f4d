"""Tells whether few series of a season are left. Workers ask this whenever one ends, so that the next ones are made
before slots idle.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, case
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.league.database import settings_of
from deadheat.league.service.evaluations.playing import has_unplanned
from deadheat.league.service.series.capacity import bound_with, ladder_bound
from deadheat.league.service.series.hosts import NO_HOST, slots_judging, told_of
from deadheat.league.states import IN_PLAY, OF_CHALLENGES, OF_EVALUATIONS, ON_LADDER, UNFINISHED, ContestState
from deadheat.league.tables import Contest, Season, Series

LOW_SHARE = 0.75
"""A share of the bound. Planning costs up to half a second of CPU in a large field, so it must make more than one
series, and end before the queue is empty, which holds half of the bound when all slots play.
"""


def low_after(session: Session, series_id: int) -> int | None:
    """Return the season of a finished series if more series must be made before the next tick, else None."""
    return _low(session, ended=True, number=series_id)


def runs_low(session: Session, season_id: int) -> bool:
    """Say whether a running season has room for enough series to make planning worthwhile."""
    return _low(session, ended=False, number=season_id) is not None


def open_of_season(session: Session, season_id: int, bound: int) -> int:
    """Return the number of series that wait or run, counted no further than the bound. Series of gates and of
    evaluations have bounds of their own.
    """
    session.flush()
    return len(session.connection().execute(UNDER_WAY, {"season_id": season_id, "bound": bound}).all())


UNDER_WAY = (
    columns(col(Series.id))
    .where(col(Series.season_id) == bindparam("season_id"), col(Series.state).in_(UNFINISHED))
    .where(col(Series.purpose).not_in((*OF_CHALLENGES, *OF_EVALUATIONS)))
    .limit(bindparam("bound"))
)


def _low(session: Session, *, ended: bool, number: int) -> int | None:
    """Return the season with that number, or that of a series that `ended`, if it is in play and runs low."""
    session.flush()
    facts = _facts(settings_of(session).judge_unfit, ended)
    season = session.connection().execute(facts, {"number": number, **told_of(session, NO_HOST)}).first()
    if season is None:
        return None
    low = LOW_SHARE * bound_with(season.slots)
    if season.evaluation is not None:
        if season.played == 0 or (season.played <= low and has_unplanned(session, season.evaluation)):
            return int(season.id)
        if not season.ladder_during_evaluations:
            return None
    if season.state in ON_LADDER and not season.ladder:
        return None
    bound = ladder_bound(session, season.id)
    return season.id if open_of_season(session, season.id, bound) <= LOW_SHARE * bound else None


@cache
def _facts(judge_unfit: bool, ended: bool) -> Select[Any]:
    """Return the statement for the facts that decide it; building it takes longer than executing it. `played`: a
    running evaluation's unfinished series, or None.
    """
    number: Any = bindparam("number")
    of_series = select(Series.season_id).where(Series.id == number, col(Series.state).not_in(UNFINISHED))
    evaluation = (
        select(Contest.id)
        .where(Contest.season_id == Season.id, Contest.state == ContestState.RUNNING, col(Contest.number).is_not(None))
        .scalar_subquery()
    )
    unfinished = (
        select(func.count())
        .where(Series.season_id == Season.id, col(Series.state).in_(UNFINISHED))
        .where(col(Series.purpose).in_(OF_EVALUATIONS))
        .correlate(Season)
        .scalar_subquery()
    )
    return columns(
        *(col(Season.id), col(Season.state), col(Season.ladder), col(Season.ladder_during_evaluations)),
        evaluation.label("evaluation"),
        case((evaluation.is_not(None), unfinished)).label("played"),
        slots_judging(judge_unfit).scalar_subquery().label("slots"),
    ).where(col(Season.state).in_(IN_PLAY), col(Season.id) == (of_series.scalar_subquery() if ended else number))
