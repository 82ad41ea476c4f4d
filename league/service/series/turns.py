"""Which series is played next, when a message says that there is one to play.

Theory of operation
-------------------
A message says that something waits, not what (as with builds): each series brings one, and whoever gets it plays what
is next here. So a newcomer's first match does not wait behind all that was planned before it came.

Next is the series that has waited longest, after a head start has been added to its waiting: an hour for series that
place a version, half an hour for others of new versions, none for the rest. So whatever comes, nothing that waits is
overtaken by what comes more than an hour later, and nobody starves.

What we failed at before is played by its own message alone, for its pause is in when that is sent.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from league.jobs import Host, SeriesJob
from league.service.series.carrying_out import claim_series
from league.states import Precedence, SeriesState
from league.tables import Series

HEAD_STARTS = {
    Precedence.PLACEMENT: timedelta(hours=1),
    Precedence.NEW_VERSION: timedelta(minutes=30),
    Precedence.ORDINARY: timedelta(0),
}
"""Longer than a season's queue takes as a rule: sixteen series are open at a time (`open_series_limit`)."""

MOST_RACES = 20
"""How often a claim looks again when other workers were quicker, before it leaves the rest to them."""


def turn(series: Series) -> tuple[datetime, int]:
    """What a waiting series is ordered by."""
    return series.queued_at - HEAD_STARTS[Precedence(series.precedence)], series.id


def claim_next_series(session: Session, nudged_id: int, worker: str, host: Host) -> SeriesJob | None:
    """Take what should be played next, now that a message speaks of `nudged_id`; None: nothing waits that this machine
    may play.
    """
    waits = (Series.id == nudged_id, Series.state == SeriesState.QUEUED)
    if session.exec(select(Series.id).where(*waits, Series.attempt > 0)).first() is not None:
        return claim_series(session, nudged_id, worker, host)
    tried: set[int] = set()
    while len(tried) < MOST_RACES:
        next_id = _next_in_turn(session)
        if next_id is None or next_id in tried:  # nothing waits, or this machine may not judge
            return None
        job = claim_series(session, next_id, worker, host)
        if job is not None:
            return job
        tried.add(next_id)
    return None


def _next_in_turn(session: Session) -> int | None:
    """The fresh series to be played next. Reads one row for each precedence, however many wait, and passes over those
    that other workers are about to take: many who ask at once get one each.
    """
    found: list[tuple[datetime, int]] = []
    for precedence, head_start in HEAD_STARTS.items():
        waits = (Series.state == SeriesState.QUEUED, Series.precedence == precedence, Series.attempt == 0)
        oldest = select(Series.queued_at, Series.id).where(*waits).order_by(col(Series.queued_at), col(Series.id))
        first = session.exec(oldest.limit(1).with_for_update(skip_locked=True)).first()
        if first is not None:
            queued_at, series_id = first
            found.append((queued_at - head_start, series_id))
    return min(found)[1] if found else None
