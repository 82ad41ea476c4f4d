"""Who is late, where, how often and whose fault it is, in a season or the whole league. All figures are sums of a few
hundred rows of `DeadlineCount`, however many matches there are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, case
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.engine.core import Fault
from deadheat.engine.figures import wilson
from deadheat.league.database import now
from deadheat.league.records.matches import Late, LateAgents, Over, Timeouts
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.series.deadlines import ADDED, ALWAYS, began
from deadheat.league.states import GOING_ON, Players, SeatKind, Span, TableState
from deadheat.league.tables import BotVersion, DeadlineCount, GameTable, ResponseTimes, Season, TableSeat, UtcDateTime
from deadheat.league.time_buckets import added, percentile

TIMES = {
    Over.FIVE_MINUTES: (timedelta(minutes=5), Span.MINUTE, Span.HOUR, (Span.MINUTE, timedelta(minutes=1), 60)),
    Over.HOUR: (timedelta(hours=1), Span.MINUTE, Span.HOUR, (Span.MINUTE, timedelta(minutes=1), 60)),
    Over.DAY: (timedelta(days=1), Span.HOUR, Span.DAY, (Span.HOUR, timedelta(hours=1), 24)),
    Over.SEASON: (timedelta(0), Span.SEASON, Span.SEASON, (Span.DAY, timedelta(days=1), 60)),
}
"""For each time: its length; the spans that are added up; longer ones for buckets, because each row of these takes as
long as ten without; and the spans of the course, their length and number.
"""

MOST_BOTS = 10
USED = (0.5, 0.95, 0.99)


def timeouts(session: Session, season_id: int | None, over: Over, standings: Iterable[Mapping[str, Any]]) -> Timeouts:
    """Return the late answers of a season, or of the league. `standings`: rows of rankings, whose bots are compared.
    Raises NotFound.
    """
    if season_id is not None:
        existing(session, Season, season_id)
    span, step, count = TIMES[over][3]
    first = began(span, now(session)) - (count - 1) * step
    known = {row.begins_at: row for row in _rows(session, season_id, span, first, "begins_at")}
    machines = _rows(session, season_id, TIMES[over][1], since(session, over), "machine")
    used: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in _rows(session, season_id, TIMES[over][2], since(session, over, TIMES[over][2])):
        used[row.game, row.command].append(row)
    commands = []
    for each in Over:
        for row in _rows(session, season_id, TIMES[each][1], since(session, each), "game", "command"):
            times = _used(used[row.game, row.command]) if each is over else {}
            commands.append(_late(row, over=each, game=row.game, command=row.command, **times))
    return Timeouts(
        season_id=season_id,
        over=over,
        commands=commands,
        course=[_late(known.get(at), at=at) for at in (first + number * step for number in range(count))],
        machines=[_late(row, machine=row.machine) for row in machines],
        bots=_latest(session, season_id, standings),
        agents=[LateAgents(*row) for row in session.connection().execute(AGENTS, {"season": season_id})],
    )


def of_programs(session: Session, season_ids: Sequence[int]) -> list[int]:
    """Return those of the seasons in which programs play."""
    programs = select(Season.id).where(col(Season.id).in_(season_ids), Season.players == Players.PROGRAMS)
    return list(session.exec(programs))


def since(session: Session, over: Over, span: Span | None = None) -> datetime:
    """Return when the first span begins of those that cover a time up to now; by default, those that are added up."""
    length, short, _, _ = TIMES[over]
    return ALWAYS if over is Over.SEASON else began(span or short, now(session) - length)


def _used(rows: Sequence[Any]) -> dict[str, Any]:
    counts = added({int(place): count for place, count in row.counts.items()} for row in rows)
    if not counts:
        return {}
    return {"limit_ns": max(row.limit_ns for row in rows), "used": tuple(percentile(counts, share) for share in USED)}


def _latest(session: Session, season_id: int | None, standings: Iterable[Mapping[str, Any]]) -> list[Late]:
    late: dict[int, list[Mapping[str, Any]]] = {}
    for row in standings:
        if row["timeouts"]:
            late.setdefault(row["bot_id"], []).append(row)
    counts = {bot_id: sum(row["timeouts"] for row in rows) for bot_id, rows in late.items()}
    most = sorted(counts, key=lambda bot_id: -counts[bot_id])[:MOST_BOTS]
    prompted = session.connection().execute(PROMPTED, {"bots": most, "season": season_id})
    prompts = {row.bot_id: int(row.prompts) for row in prompted}
    named = [{name: late[bot_id][0][name] for name in ("bot_id", "bot", "author")} for bot_id in most]
    return [Late(**_share(prompts.get(bot["bot_id"], 0), counts[bot["bot_id"]]), **bot) for bot in named]


def _late(row: Any, **keys: Any) -> Late:
    prompts, late, given_back, void = (int(getattr(row, name)) if row else 0 for name in ADDED)
    return Late(**_share(prompts, late), given_back=given_back, void=void, **keys)


def _share(prompts: int, late: int) -> dict[str, Any]:
    share = min(late / prompts, 1.0) if prompts else None
    interval = None if share is None else wilson(share, prompts)
    return {"prompts": prompts, "timeouts": late, "share": share, "interval": interval}


def _rows(session: Session, season_id: int | None, span: Span, first: datetime, *by: str) -> Sequence[Any]:
    chosen = {"span": span, "first": first, "season": season_id}
    return session.connection().execute(_adding_up(by), chosen).all()


OF_SEASON = func.coalesce(bindparam("season", type_=Integer), 0)
"""The season's number, or 0 for all."""


@lru_cache
def _adding_up(by: tuple[str, ...]) -> Any:
    """Return the statement that adds up rows `by` these columns, or without any reads them with their buckets. It is
    built once, because building it takes longer than executing it.
    """
    key = [col(Season.game) if name == "game" else getattr(DeadlineCount, name) for name in by]
    sums = [func.sum(getattr(DeadlineCount, name)).label(name) for name in ADDED]
    each = [col(Season.game), *(getattr(DeadlineCount, name) for name in ("command", "limit_ns", "counts"))]
    return (
        columns(*(key + sums if by else each))
        .join_from(DeadlineCount, Season, col(Season.id) == col(DeadlineCount.season_id))
        .where(
            col(DeadlineCount.span) == bindparam("span"),
            col(DeadlineCount.begins_at) >= bindparam("first", type_=UtcDateTime),
            (OF_SEASON == 0) | (col(DeadlineCount.season_id) == OF_SEASON),
        )
        .group_by(*key)
        .order_by(*key)
    )


PROMPTED = (
    columns(col(BotVersion.bot_id), func.sum(col(ResponseTimes.prompts)).label("prompts"))
    .join_from(ResponseTimes, BotVersion, col(BotVersion.id) == col(ResponseTimes.version_id))
    .where(col(BotVersion.bot_id).in_(bindparam("bots", expanding=True)))
    .join(Season, col(Season.id) == col(ResponseTimes.season_id))
    .where(case((OF_SEASON == 0, col(Season.state).in_(GOING_ON)), else_=col(Season.id) == OF_SEASON))
    .group_by(col(BotVersion.bot_id))
)
_LATE = func.sum(case((col(TableSeat.fault) == Fault.TIMEOUT, 1), else_=0))
_ABSENT = func.sum(case(((col(TableSeat.fault) == Fault.EXITED) & ~col(TableSeat.resigned), 1), else_=0))
AGENTS = (
    columns(col(Season.id), col(Season.name), func.sum(func.json_array_length(TableSeat.turns)) + _LATE + _ABSENT)
    .add_columns(_LATE, _ABSENT)
    .join_from(GameTable, Season, col(Season.id) == GameTable.season_id)
    .join(TableSeat, col(TableSeat.table_id) == GameTable.id)
    .where(col(TableSeat.kind) == SeatKind.AGENT, col(GameTable.state) == TableState.DONE)
    .where((OF_SEASON == 0) | (col(Season.id) == OF_SEASON))
    .group_by(col(Season.id), col(Season.name))
    .order_by(col(Season.id).desc())
    .limit(MOST_BOTS)
)
"""What agents were asked and did not answer in time, in the newest seasons."""
