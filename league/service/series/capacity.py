"""How many series may be open at a time, so that every slot has one to play, and the pace at which slots play them.

The judging slots bound the series in progress, and as many may wait: planning is due again long before those are
played. More would only delay the influence of new results on the pairing. So of a season's ladder no more may wait than
its slots can begin within the next minute, at the pace of its latest series, and at least one for each slot.
"""

import math
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, literal, true
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.engine.games.folder import folders
from deadheat.league.database import settings_of
from deadheat.league.service.series.hosts import NO_HOST, judging_slots, slots_judging, told_of
from deadheat.league.service.series.pace import ENOUGH, ESTIMATE, Machines, Pace, Played, measured
from deadheat.league.states import IN_PLAY, UNFINISHED, JobState, Players, Purpose
from deadheat.league.tables import Match, Season, Series, UtcDateTime

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


def open_series(session: Session, season_id: int, *purposes: Purpose) -> int:
    """Count the series of a season that wait or run for these purposes."""
    return session.exec(WAIT_OR_RUN, params={"season_id": season_id, "purposes": purposes}).one()


WAIT_OR_RUN = (
    select(func.count())
    .select_from(Series)
    .where(Series.season_id == bindparam("season_id"), col(Series.state).in_(UNFINISHED))
    .where(col(Series.purpose).in_(bindparam("purposes", expanding=True)))
)
"""Executed after each series, and built once: building it takes longer than executing it."""

AHEAD = timedelta(minutes=1)
"""The time for which series are drawn ahead of their play."""

LOOKED_AT, MEASURED = 8, 100
"""The number of a season's latest series by which its ladder is drawn ahead, and by which its pace is measured: few, so
that a machine that has become slower, or whose neighbours take its time, shows within minutes.
"""

EVER = datetime.fromtimestamp(0, UTC)
"""Before any series."""

EARLIER_SEASONS = 5
"""The number of a game's other seasons in which its pace is looked for, the newest first."""


def ladder_bound(session: Session, season_id: int) -> int:
    """Return the number of series of one season's ladder that may wait or run. Seasons in play share the slots."""
    session.flush()
    params = {"season": season_id, **told_of(session, NO_HOST)}
    rows = session.connection().execute(_shares(settings_of(session).judge_unfit), params).all()
    slots: int = rows[0].slots
    seasons: int = rows[0].seasons
    most = bound_with(slots)
    took = [row.finished_at - row.started_at for row in rows if row.started_at and row.finished_at]
    if len(took) < ENOUGH or not slots:
        return most
    mean = sum(took, timedelta(0)) / len(took)
    within = slots * AHEAD / max(mean, timedelta(milliseconds=1)) / max(1, seasons)
    return min(most, slots + max(slots, math.ceil(within)))


def machines_for(session: Session, season: Season) -> Machines:
    """Return the slots that judge, at least one, with the pace of the season's game: measured in this season, or else
    in the newest other one of programs in which enough was played, or else estimated.
    """
    slots, folder = max(1, judging_slots(session)), folders().get(season.game)
    estimate = Pace(*folder.pace) if folder and folder.pace else ESTIMATE
    of_game = select(Season.id).where(Season.game == season.game, Season.players == Players.PROGRAMS)
    of_game = of_game.order_by(col(Season.id) != (season.id or 0))
    season_ids = session.exec(of_game.order_by(col(Season.id).desc()).limit(1 + EARLIER_SEASONS))
    paces = (pace(session, season_id, slots, estimate=estimate) for season_id in season_ids)
    return Machines(slots, next((of_season for of_season in paces if of_season.series), estimate))


def pace(
    session: Session,
    season_id: int,
    slots: int,
    since: datetime = EVER,
    estimate: Pace = ESTIMATE,
) -> Pace:
    """Return the pace of a season's latest series, if enough have ended after `since`, else the estimate."""
    session.flush()
    rows = session.connection().execute(PLAYED, {"season": season_id, "since": since})
    return measured([*map(Played._make, rows)], slots, estimate)


def _latest(most: int, *further: Any) -> Select[Any]:
    """Return the statement for a season's latest series that ended: their times, and further columns."""
    times = (col(Series.started_at), col(Series.finished_at))
    ended = columns(*times, *further).where(col(Series.season_id) == bindparam("season"))
    ended = ended.where(col(Series.state) == JobState.DONE)
    ended = ended.where(col(Series.finished_at).is_not(None))  # else the index is read through all that still wait
    return ended.order_by(col(Series.finished_at).desc()).limit(most)


_MATCHES = columns(func.count(col(Match.id))).where(col(Match.series_id) == col(Series.id)).scalar_subquery()
PLAYED = _latest(MEASURED, col(Series.queued_at), _MATCHES).where(
    col(Series.finished_at) > bindparam("since", type_=UtcDateTime),
    col(Series.attempt) == 1,  # others began with fewer matches, or took part of their time elsewhere
)
SEASONS = (
    select(func.count()).select_from(Season).where(col(Season.state).in_(IN_PLAY), Season.players == Players.PROGRAMS)
)


@cache
def _shares(judge_unfit: bool) -> Select[Any]:
    """Return the statement for judging slots, seasons in play, and a season's latest series; it always has a row."""
    latest, row = _latest(LOOKED_AT).subquery(), columns(literal(1).label("one")).subquery()
    slots = slots_judging(judge_unfit).scalar_subquery().label("slots")
    seasons = SEASONS.scalar_subquery().label("seasons")
    return columns(slots, seasons, latest).select_from(row.outerjoin(latest, true()))
