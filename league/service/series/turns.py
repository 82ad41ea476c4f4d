"""Chooses the series that is played next when a message says that one is waiting.

Theory of operation
-------------------
A message says that something waits, not what (as with builds): each series sends one, and its receiver plays the next
series by this order. So a newcomer's first match does not wait for everything planned earlier.

Next is the series that has waited longest, after a head start has been added to its waiting (`HEAD_STARTS`). All other
series have a head start over unrated ones, which authors ask for. So no series is overtaken by one planned hours later,
and none starves, but a request delays no rated match that was planned before it or soon after.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ARRAY, CompoundSelect, Integer, Select, Update, func, literal, union_all
from sqlalchemy import select as columns
from sqlmodel import Session, col

from deadheat.engine.games.folder import Identity
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Host, SeriesJob
from deadheat.league.service.ground.steps import update_rows, updating
from deadheat.league.service.series.carrying_out import SERIES, claim_series
from deadheat.league.service.series.games import closed_to, games_here
from deadheat.league.service.series.hosts import told_of, turn_away, welcome
from deadheat.league.states import JobState, Precedence
from deadheat.league.tables import Series

HEAD_STARTS = {
    Precedence.PANEL: timedelta(hours=3),
    Precedence.EVALUATION: timedelta(hours=2),
    Precedence.PLACEMENT: timedelta(hours=1),
    Precedence.NEW_VERSION: timedelta(minutes=30),
    Precedence.ORDINARY: timedelta(0),
    Precedence.ASKED: -timedelta(minutes=2),
}
"""Longer than a season's queue usually takes, because few series are open at a time (`capacity.OPEN_SERIES`)."""


def _oldest(precedence: Any, games: tuple[Identity, ...]) -> Any:
    """Return the new series of one precedence, for processes with these games, that has waited longest. (`NOT IN` is
    evaluated for each series in turn; for `IN`, a database may choose a join that reads all waiting series.)
    """
    return (
        columns(col(Series.precedence), col(Series.queued_at), col(Series.id))
        .where(col(Series.state) == JobState.QUEUED, col(Series.precedence) == precedence, col(Series.attempt) == 0)
        .where(col(Series.season_id).not_in(closed_to(games)))
        .order_by(col(Series.queued_at), col(Series.id))
        .limit(1)
        .with_for_update(skip_locked=True)
    )


@cache
def oldest(games: tuple[Identity, ...], dialect: str) -> Select[Any] | CompoundSelect[Any]:
    """Return the statement for the oldest new series of each precedence. It is built once, because building it takes
    longer than executing it, and every claim executes it. PostgreSQL plans it again each time, so it gets one query for
    all precedences; SQLite has no LATERAL.
    """
    if dialect != "postgresql":
        return union_all(*(columns(_oldest(precedence, games).subquery()) for precedence in HEAD_STARTS))
    each = func.unnest(literal([*map(int, HEAD_STARTS)], ARRAY(Integer))).table_valued("precedence")
    each = each.render_derived(name="each")
    first: Any = _oldest(each.c.precedence, games).correlate(each).lateral("first")
    return columns(first).select_from(each)


def turn(series: Series) -> tuple[datetime, int]:
    """Return the key by which waiting series are ordered."""
    return series.queued_at - HEAD_STARTS[Precedence(series.precedence)], series.id


def claim_next_series(session: Session, nudged_id: int, worker: str, host: Host) -> SeriesJob | None:
    """Claim the next series on receipt of a message about `nudged_id`, or return None if there is none to play here."""
    return SERIES.claim_next(
        session, nudged_id, _next_in_turn, lambda chosen: claim_series(session, chosen, worker, host)
    )


def turn_away_series(session: Session, series_id: int, host: Host) -> bool:
    """Say whether, after a failed claim, to notify another machine of the series (`turn_away`). A series that waits for
    another machine because this one failed at it is enqueued again in a moment.
    """
    settings = settings_of(session)
    waits = {"id": series_id, "state": JobState.QUEUED}
    again = now(session) + timedelta(seconds=settings.retry_seconds)
    update_rows(session, _unwelcome(settings.judge_unfit), waits, nudge_at=again, **told_of(session, host))
    return turn_away(session, SERIES, series_id, host)


@cache
def _unwelcome(judge_unfit: bool) -> Update:
    return updating(Series, "id", "state").where(~welcome(judge_unfit))


def _next_in_turn(session: Session) -> int | None:
    """Return the next new series of the games that this process shares with the API. The query reads one row for each
    precedence, however many wait, and skips rows that other workers are about to take, so that simultaneous claims get
    different series.
    """
    session.flush()
    waiting = session.connection().execute(oldest(games_here(), session.get_bind().dialect.name))
    found = [(queued_at - HEAD_STARTS[Precedence(precedence)], row_id) for precedence, queued_at, row_id in waiting]
    return min(found)[1] if found else None
