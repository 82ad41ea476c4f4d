"""Chooses the series that is played next when a message says that one is waiting.

Theory of operation
-------------------
A message says that something waits, not what (as with builds): each series sends one, and its receiver plays the next
series by this order. So a newcomer's first match does not wait for everything planned earlier.

Next is the series that has waited longest, after a head start has been added to its waiting (`HEAD_STARTS`). So
evaluations and panels come first, and unrated series, which authors ask for, last; but these get a share of the slots
whatever is rated (`ASKED_SHARE`).

*Seasons take turns.* If the next series is of another kind (`SHARED`), the season that has been served least is next,
and of that season the series that this order puts first. Matches are counted by start-time fair queueing: a series
begins at its season's virtual time (`Series.virtual_start`), and the next one of the season after as many matches as it
has. So seasons that wait at the same time are never further apart than their longest series. A season that had nothing
waiting gets no more than one series as credit for that. Two workers that choose at the same moment may give two series
the same start; then both are counted.
"""

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any

from sqlalchemy import (
    ARRAY,
    CompoundSelect,
    Integer,
    Row,
    Select,
    Update,
    bindparam,
    exists,
    func,
    literal,
    or_,
    union_all,
)
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat.engine.games.folder import Identity
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Host, SeriesJob
from deadheat.league.service.ground.steps import update_rows, updating
from deadheat.league.service.series.carrying_out import SERIES, claim_series
from deadheat.league.service.series.games import closed_to, games_here
from deadheat.league.service.series.hosts import judging_slots, told_of, turn_away, welcome
from deadheat.league.states import IN_PLAY, JobState, Precedence
from deadheat.league.tables import Match, Season, Series

HEAD_STARTS = {
    Precedence.PANEL: timedelta(hours=3),
    Precedence.EVALUATION: timedelta(hours=2),
    Precedence.PLACEMENT: timedelta(hours=1),
    Precedence.NEW_VERSION: timedelta(minutes=30),
    Precedence.ORDINARY: timedelta(0),
    Precedence.ASKED: -timedelta(minutes=2),
}
"""Longer than a season's queue usually takes, because few series are open at a time (`capacity.OPEN_SERIES`)."""

SHARED = (Precedence.PLACEMENT, Precedence.NEW_VERSION, Precedence.ORDINARY)
"""The precedences of series for which seasons take turns; those of a timetable or a panel are played before them."""

ASKED_SHARE, ASKED_PATIENCE = 8, timedelta(minutes=1)
"""One in so many slots plays what authors ask for while any of that has waited for so long: a challenge of a few
matches ends within an evaluation, and costs the rest little. With fewer slots, it is a share of the time of one."""


FRESH = or_(col(Series.attempt) == 0, col(Series.queued_at) < col(Series.started_at))
"""The condition that we have not failed at a waiting series: nobody began it, or its worker was stopped."""


def _first(precedence: Any, games: tuple[Identity, ...], of_season: bool) -> Any:
    """Return the new series of one precedence, for processes with these games, that has waited longest. (`NOT IN` is
    evaluated for each series in turn; for `IN`, a database may choose a join that reads all waiting series.)
    """
    heads = (
        columns(col(Series.precedence), col(Series.queued_at), col(Series.id))
        .where(col(Series.state) == JobState.QUEUED, col(Series.precedence) == precedence, FRESH)
        .where(col(Series.season_id).not_in(closed_to(games)))
        .order_by(col(Series.queued_at), col(Series.id))
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    return heads.where(col(Series.season_id) == bindparam("season")) if of_season else heads


@cache
def oldest(
    games: tuple[Identity, ...],
    dialect: str,
    precedences: tuple[Precedence, ...] = tuple(HEAD_STARTS),
    of_season: bool = False,
) -> Select[Any] | CompoundSelect[Any]:
    """Return the statement for the longest waiting new series of each precedence; `of_season`: of the season that is
    its parameter. It is built once, because building it takes longer than executing it, and every claim executes it.
    PostgreSQL plans it again each time, so it gets one query for all precedences; SQLite has no LATERAL.
    """
    if dialect != "postgresql":
        return union_all(*(columns(_first(precedence, games, of_season).subquery()) for precedence in precedences))
    each = func.unnest(literal([*map(int, precedences)], ARRAY(Integer))).table_valued("precedence")
    each = each.render_derived(name="each")
    heads: Any = _first(each.c.precedence, games, of_season).correlate(each).lateral("first")
    return columns(heads).select_from(each)


def turn(series: Series | Row[Any]) -> tuple[datetime, int]:
    """Return the key by which waiting series are ordered."""
    return series.queued_at - HEAD_STARTS[Precedence(series.precedence)], series.id


def claim_next_series(session: Session, nudged_id: int, worker: str, host: Host) -> SeriesJob | None:
    """Claim the next series on receipt of a message about `nudged_id`, or return None if there is none to play here."""
    starts: dict[int, int] = {}
    return SERIES.claim_next(
        session,
        nudged_id,
        lambda session: _next_in_turn(session, starts),
        lambda chosen: claim_series(session, chosen, worker, host, starts.get(chosen)),
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


def _next_in_turn(session: Session, starts: dict[int, int]) -> int | None:
    """Return the next new series of the games that this process shares with the API, and note its virtual start if it
    has one. A query reads one row for each precedence, however many wait, and another a few for each season; series
    that other workers are about to take are skipped, so that simultaneous claims get different series. If several
    seasons wait, a third reads the first series of the one whose turn it is.
    """
    waiting = _heads(session)
    kinds = sorted(waiting, key=lambda kind: waiting[kind][0])
    first_asked = waiting.get(Precedence.ASKED)
    if first_asked is not None and _asked_is_due(session, first_asked[0] + HEAD_STARTS[Precedence.ASKED]):
        kinds.insert(0, Precedence.ASKED)
    for kind in dict.fromkeys(Precedence.ORDINARY if kind in SHARED else kind for kind in kinds):
        if kind not in SHARED:
            return waiting[kind][1]
        seasons = _seasons_in_turn(session)
        for start, season_id in seasons:
            heads = waiting
            if len(seasons) > 1:
                heads = _heads(session, season_id, precedences=SHARED, of_season=True)
            for _, series_id in sorted(heads[kind] for kind in SHARED if kind in heads)[:1]:
                starts[series_id] = start
                return series_id
    return None


def _heads(session: Session, season_id: int | None = None, **which: Any) -> dict[Precedence, tuple[datetime, int]]:
    """Return what `oldest` finds: for each precedence the key of `turn`."""
    session.flush()
    statement = oldest(games_here(), session.get_bind().dialect.name, **which)
    rows = session.connection().execute(statement, {"season": season_id} if season_id is not None else {})
    return {Precedence(kind): (queued_at - HEAD_STARTS[Precedence(kind)], row_id) for kind, queued_at, row_id in rows}


def _seasons_in_turn(session: Session) -> list[tuple[int, int]]:
    """Return the virtual time and the number of each season with a waiting series, the least served first."""
    seasons = session.connection().execute(_served(games_here())).all()
    credit = max((max(row.series_length, row.matches) for row in seasons), default=0)
    ends = {row.id: row.start + row.matches for row in seasons}
    ahead = max(ends.values(), default=0)
    waiting = ((max(ends[row.id], ahead - credit), ends[row.id], row.id) for row in seasons if row.waits)
    return [(start, season_id) for start, _, season_id in sorted(waiting)]


@cache
def _served(games: tuple[Identity, ...]) -> Select[Any]:
    """Return the statement for the seasons in play: `start` is the last virtual start, `matches` are those it stands
    for, and `waits` says whether a new series waits that these games can play.
    """
    of_season = col(Series.season_id) == Season.id
    started = col(Series.virtual_start).is_not(None)  # so that an index of these alone is read
    last = columns(func.max(col(Series.virtual_start))).where(of_season, started).correlate(Season).scalar_subquery()
    counted = columns(func.count(col(Match.id))).join_from(Series, Match, col(Match.series_id) == Series.id)
    counted = counted.where(of_season, started, col(Series.virtual_start) == last).correlate(Season)
    waits = exists().where(of_season, col(Series.state) == JobState.QUEUED, FRESH)
    return columns(
        col(Season.id),
        col(Season.series_length),
        func.coalesce(last, 0).label("start"),
        counted.scalar_subquery().label("matches"),
        waits.where(col(Series.precedence).in_(SHARED)).correlate(Season).label("waits"),
    ).where(col(Season.state).in_(IN_PLAY), col(Season.id).not_in(closed_to(games)))


def _asked_is_due(session: Session, queued_at: datetime) -> bool:
    """Say whether what authors ask for has had less than its share of the slots since the last of it ended."""
    if now(session) < queued_at + ASKED_PATIENCE:
        return False
    slots = judging_slots(session)
    if len(session.exec(ASKED_RUNNING).all()) >= max(1, slots // ASKED_SHARE):
        return False
    last = session.exec(ASKED_LAST).first()
    if last is None or last[0] is None or last[1] is None:
        return True
    took = last[1] - last[0]
    return now(session) >= last[1] + took * (ASKED_SHARE / max(1, min(slots, ASKED_SHARE)) - 1)


_ASKED = col(Series.precedence) == Precedence.ASKED
ASKED_RUNNING = select(Series.id).where(col(Series.state) == JobState.RUNNING, _ASKED)
ASKED_LAST = (
    select(Series.started_at, Series.finished_at)
    .where(col(Series.state) == JobState.DONE, _ASKED)
    .order_by(col(Series.queued_at).desc())
    .limit(1)
)


def in_turns_of_seasons(session: Session, rows: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Put waiting series, each with its number of `matches`, in the order in which workers will take them."""
    first = sorted((row for row in rows if row.precedence not in SHARED), key=turn)
    of_season: dict[int, deque[Row[Any]]] = {}
    for row in sorted((row for row in rows if row.precedence in SHARED), key=turn):
        of_season.setdefault(row.season_id, deque()).append(row)
    starts = {season_id: start for start, season_id in _seasons_in_turn(session)}
    times = [(starts.get(season_id, 0), season_id) for season_id in of_season]
    heapify(times)
    while times:
        start, season_id = heappop(times)
        first.append(row := of_season[season_id].popleft())
        if of_season[season_id]:
            heappush(times, (start + row.matches, season_id))
    return first
