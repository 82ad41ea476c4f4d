"""The one planner of contests: it settles what was played, draws what is next, or ends them.

Theory of operation
-------------------
`plan` reads the database each time and does what can be done next in a season's contests of one kind:

1. The results of what was played are stored.
2. If nothing of a contest is open, its next round is drawn.
3. If nothing is left to draw, it ends, with what belongs to its kind.
4. Series are planned for what is open, while there is room. Each kind has room of its own.

The season is locked meanwhile, and every step is a row that exists or does not, so two schedulers, or one that dies
between two steps, do nothing twice. What differs by kind is in `KINDS`, and in `POLICIES` of
`league.service.contests.life`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from sqlalchemy import bindparam
from sqlmodel import Session, col, exists, func, or_, select

from deadheat.league.service.contests.life import POLICIES, Progress
from deadheat.league.service.duels import gates, panels, requests
from deadheat.league.service.evaluations import beginning, playing
from deadheat.league.service.evaluations.beginning import stages_in_turn
from deadheat.league.service.series.capacity import open_series_bound
from deadheat.league.service.series.planning import Table, add_series, in_turns
from deadheat.league.states import EVALUATIONS, UNFINISHED, Asked, ContestKind, ContestState
from deadheat.league.tables import Contest, Meeting, Season, Series


class Kind(NamedTuple):
    """How contests of a kind go on. `turn`: those that may be played now, in order; it begins what is due. `settle`
    stores results, `draw` adds meetings if there are any left, `over` ends a contest. `whose`: one contest of each is
    played at a time. `changed`: is called with those whose scores have changed.
    """

    turn: Callable[[Session, Season], Iterable[Contest]]
    settle: Callable[[Session, Season, Contest, int], Progress]
    over: Callable[[Session, Season, Contest, Progress], None]
    draw: Callable[[Session, Season, Contest], bool] = lambda *_: False
    whose: Callable[[Contest], object] = attrgetter("id")
    changed: Callable[[Session, Season, Sequence[Contest]], None] = lambda *_: None


KINDS: Mapping[ContestKind, Kind] = {
    ContestKind.EVALUATION: Kind(beginning.in_turn, playing.settle, playing.finish, playing.draw),
    ContestKind.STAGE: Kind(stages_in_turn, playing.settle, playing.finish, playing.draw),
    ContestKind.GATE: Kind(gates.at_gates, gates.settle, gates.decide, whose=attrgetter("entry_id")),
    ContestKind.REQUEST: Kind(requests.allowed, requests.settle, requests.decide, whose=attrgetter("asker_id")),
    ContestKind.PANEL: Kind(panels.runs_to_play, panels.settle, panels.decide, changed=panels.estimate),
}


def plan(session: Session, season: Season, kind: ContestKind) -> list[int]:
    """Do what can be done next in the locked season's contests of a kind, and return the new series, to be enqueued."""
    policy, rules, here = POLICIES[kind], KINDS[kind], {"season_id": season.id, "kind": kind}
    few, turn = policy.open_series is not None, rules.turn(session, season)
    room = policy.open_series or open_series_bound(session)
    room -= session.exec(OPEN_CONTESTS if few else OPEN, params=here).one()
    wanted: list[tuple[Contest, Table]] = []
    changed: list[Contest] = []
    served: set[object] = set()
    begun: set[int] | None = None
    for row in turn:
        if rules.whose(row) in served:
            continue
        if not few and len(wanted) >= room:  # then matches are read only where some may have been played
            begun = set(session.exec(BEGUN, params=here)) if begun is None else begun
            if row.id not in begun:
                continue
        progress = rules.settle(session, season, row, room)
        while not progress.is_open and rules.draw(session, season, row):
            progress = rules.settle(session, season, row, room)
        changed += [row] if progress.changed else []
        if progress.is_open:
            served.add(rules.whose(row))
            wanted += ((row, table) for table in progress.tables)
        else:
            rules.over(session, season, row, progress)
    if changed:
        rules.changed(session, season, changed)
    if few:  # those with the fewest games first
        wanted.sort(key=lambda wish: session.get_one(Meeting, wish[1].meeting_id).planned)
    return _add(session, season, wanted[: max(0, room)])


OPEN = (
    select(func.count())
    .select_from(Series)
    .join(Meeting, col(Meeting.id) == Series.meeting_id)
    .join(Contest, col(Contest.id) == Meeting.contest_id)
    .where(Series.season_id == bindparam("season_id"), col(Series.state).in_(UNFINISHED))
    .where(Contest.kind == bindparam("kind"), Contest.state == ContestState.RUNNING)
)
OPEN_CONTESTS: Any = OPEN.with_only_columns(func.count(col(Series.meeting_id).distinct()))
"""The duels in progress. One that is played again after a failure has two series for a while, and takes one place."""
BEGUN = select(Contest.id).where(
    Contest.season_id == bindparam("season_id"),
    Contest.kind == bindparam("kind"),
    Contest.state == ContestState.RUNNING,
    or_(
        col(Contest.kind).in_(EVALUATIONS),
        exists().where(col(Meeting.contest_id) == Contest.id, col(Meeting.planned) > 0),
    ),
)


def _add(session: Session, season: Season, wanted: Sequence[tuple[Contest, Table]]) -> list[int]:
    """Add series for these tables of contests."""
    made: list[int] = []
    for row, of_it in groupby(wanted, itemgetter(0)):
        policy, tables = POLICIES[row.kind], [table for _, table in of_it]
        privacy = None if not policy.asked else Asked.PRIVATE if row.private else Asked.PUBLIC
        made += in_turns(add_series(session, season, tables, purpose=policy.purpose(row), privacy=privacy))
        for table in tables if row.kind not in EVALUATIONS else ():
            session.get_one(Meeting, table.meeting_id).planned += table.matches
    session.flush()
    return made
