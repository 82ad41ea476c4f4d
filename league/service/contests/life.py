"""The life of a contest: what differs by its kind, its beginning with a field of players, its meetings, and its end."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, or_
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, exists, select

from deadheat.engine.language import N_
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import insert_rows, move
from deadheat.league.service.people import notices
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.service.series.planning import Table
from deadheat.league.states import EVALUATIONS, ContestKind, ContestState, JobState, MatchState, Precedence, Purpose
from deadheat.league.tables import (
    BotVersion,
    Contest,
    ContestPlayer,
    Match,
    Meeting,
    MeetingPlayer,
    Series,
    VoidedMatch,
)

log = logging.getLogger(__name__)


Players = Sequence[tuple[int, int]]
"""A field: versions with their bots, the best seed first."""


class Policy(NamedTuple):
    """The rules of a kind. `purposes`: of its series, unrated and rated; `precedence`: which others these wait behind
    (`league.service.series.turns`); `open_series`: the most of a season that may wait or run, None for as many as the
    slots allow; `asked`: somebody asked for them. `word`: the audit log's. `cause`, `dropped`: why series are dropped
    at its end. `over`: tells people of the end, and returns the facts for the audit log.
    """

    purposes: Sequence[Purpose]
    precedence: Precedence
    over: Callable[[Session, Contest, bool], dict[str, Any]]
    word: str = "challenge"
    cause: Cause = Cause.CHALLENGE_OVER
    dropped: str = N_("The challenge ended before this series began.")
    open_series: int | None = None
    asked: bool = False

    def purpose(self, row: Contest) -> Purpose:
        """Return what the series of a contest are for."""
        return self.purposes[row.rated]


class Progress(NamedTuple):
    """How far a contest is. `is_open`: something of it is still to be played; `tables`: what of that may be planned
    now, in order. `duels`: with the games by which each was judged; `changed`: whether their scores have.
    """

    is_open: bool
    tables: Sequence[Table] = ()
    duels: Sequence[Any] = ()
    changed: bool = False


def running(session: Session, season_id: int, *kinds: ContestKind) -> Sequence[Contest]:
    """Return the season's contests of these kinds that are not over, the oldest first."""
    return session.exec(RUNNING, params={"season_id": season_id, "kinds": kinds}).all()


RUNNING = (
    select(Contest)
    .where(Contest.season_id == bindparam("season_id"), Contest.state == ContestState.RUNNING)
    .where(col(Contest.kind).in_(bindparam("kinds", expanding=True)))
    .order_by(col(Contest.id))
)


def numbered(kind: ContestKind, number: Any) -> ColumnElement[bool]:
    """Return the condition on `Contest` that it is the one of this kind with this public number."""
    new = and_(col(Contest.id) == number, col(Contest.former_id).is_(None))
    return and_(col(Contest.kind) == kind, or_(col(Contest.former_id) == number, new))


def begin(session: Session, kind: ContestKind, season_id: int, players: Players, **values: Any) -> Contest:
    """Add a contest with these columns."""
    row = Contest(kind=kind, season_id=season_id, created_at=now(session), **values)
    session.add(row)
    session.flush()
    field = [
        {"contest_id": row.id, "version_id": version, "bot_id": bot_id, "seed": seed}
        for seed, (version, bot_id) in enumerate(players, 1)
    ]
    insert_rows(session, ContestPlayer, field)
    return row


def add_meetings(
    session: Session,
    contest_id: int,
    places: Sequence[tuple[int, int, tuple[int, ...]]],
    bye_points: float | None = None,
    **values: Any,
) -> None:
    """Add meetings, each with round, board and players; one who is alone gets the points of a bye at once."""
    last = min((number for number, _, _ in places), default=1) - 1
    rows = [
        {"contest_id": contest_id, "round": number, "board": board, "settled": len(players) == 1, **values}
        for number, board, players in places
    ]
    insert_rows(session, Meeting, rows)
    new = columns(col(Meeting.id), col(Meeting.round), col(Meeting.board))
    new = new.where(col(Meeting.contest_id) == contest_id, col(Meeting.round) > last)
    made = session.connection().execute(new)
    ids = {(number, board): meeting_id for meeting_id, number, board in made}
    seats = [
        {
            "meeting_id": ids[number, board],
            "seat": seat,
            "version_id": player,
            "points": bye_points if len(players) == 1 else None,
        }
        for number, board, players in places
        for seat, player in enumerate(players)
    ]
    insert_rows(session, MeetingPlayer, seats)


def end(
    session: Session, row: Contest, state: ContestState, reason: str, who: str = SYSTEM, *, notify: bool = True
) -> bool:
    """End a contest, so that nothing more of it is played than `drop_planned` says. Return False if it was over. The
    owners of a candidate are told of a gate's verdict, and of a request's end unless not `notify`.
    """
    if not move(session, Contest, row.id, ContestState.RUNNING, state, reason=reason, ended_at=now(session)):
        return False
    session.refresh(row)
    policy = POLICIES[row.kind]
    mine = Meeting.contest_id == row.id
    if row.kind in EVALUATIONS:
        waiting = col(Series.meeting_id).in_(select(Meeting.id).where(mine))
        drop_waiting(session, row.season_id, policy.cause, policy.dropped, waiting)
    else:
        drop_planned(session, row, session.exec(select(Meeting).where(mine)).all())
    data = {**policy.over(session, row, notify), "reason": reason}
    if policy.word:
        record(session, who, f"{policy.word}-{state.value}", f"season/{row.season_id}", data)
    log.info("season %d: %s %d %s: %s", row.season_id, row.kind.value, row.public_id, state.value, reason)
    return True


def drop_planned(session: Session, row: Contest, meetings: Sequence[Meeting]) -> None:
    """Drop the waiting series of a contest's duels. Those in which a gate's begun pairs are completed stay: its author,
    who can end it at any time and let it continue later, would else choose which pairs count. Nothing continues a
    request, so it may end within a pair.
    """
    policy = POLICIES[row.kind]
    kept = () if row.kind is not ContestKind.GATE or not row.terms.get("paired") else (~COMPLETES_PAIRS,)
    for meeting in meetings:
        mine = col(Series.meeting_id) == meeting.id
        meeting.planned -= drop_waiting(session, row.season_id, policy.cause, policy.dropped, mine, *kept)
    session.flush()


_own, _other, _others = aliased(Match), aliased(Match), aliased(Series)
_BEGUN = or_(
    col(_others.state) == JobState.RUNNING,
    col(_other.state).in_((MatchState.DONE, MatchState.HELD, MatchState.DECIDED)),
)
COMPLETES_PAIRS = or_(
    exists()
    .where(col(_own.series_id) == Series.id, col(_others.meeting_id) == Series.meeting_id)
    .where(col(_other.series_id) == _others.id, col(_other.commitment) == _own.commitment, _BEGUN),
    exists().where(col(_own.series_id) == Series.id, col(VoidedMatch.rejudged_id) == _own.id),
)
"""The condition on a `Series` of a duel that a game of one of its deals has begun, in it or in another one. Or it
replays a voided game, which would count again.
"""


def _evaluation_over(_session: Session, row: Contest, _notify: bool) -> dict[str, Any]:
    return {"evaluation": row.id, "number": row.number, "name": row.name}


def _gate_over(session: Session, row: Contest, _notify: bool) -> dict[str, Any]:
    candidate, score = session.get_one(BotVersion, row.candidate_id), _score(session, row)
    notices.gate_decided(session, row, candidate)
    return {"bot": candidate.bot_id, "challenge": row.public_id, **score}


def _request_over(session: Session, row: Contest, notify: bool) -> dict[str, Any]:
    if notify:
        candidate, *opponents = session.exec(FIELD, params={"contest_id": row.id})
        notices.challenge_over(session, row, _score(session, row), candidate, opponents)
    return {}


def _panel_over(session: Session, row: Contest, _notify: bool) -> dict[str, Any]:
    candidate = session.get_one(BotVersion, row.candidate_id)
    points = {"points": row.result["points"], "minimum": row.terms["minimum"]}
    return {"bot": candidate.bot_id, "version": candidate.number, **points}


def _score(session: Session, row: Contest) -> dict[str, Any]:
    """Return the score of a contest's duels together."""
    scores = session.exec(SCORES, params={"contest_id": row.id}).all()
    return {name: sum(score[name] for score in scores) for name in ("wins", "draws", "losses")}


SCORES = select(Meeting.score).where(Meeting.contest_id == bindparam("contest_id"))
FIELD = (
    select(BotVersion)
    .join(ContestPlayer, col(ContestPlayer.version_id) == BotVersion.id)
    .where(ContestPlayer.contest_id == bindparam("contest_id"))
    .order_by(col(ContestPlayer.seed))
)


OPEN_SERIES = 4
"""The series of one season that wait or run at a time at its gates, and as many at authors' requests: enough for idle
machines, and too few to hold up the season.
"""

_EVALUATION = Policy(
    (Purpose.EVALUATION, Purpose.RATED_EVALUATION),
    Precedence.EVALUATION,
    _evaluation_over,
    "evaluation",
    Cause.EVALUATION_OVER,
    N_("The evaluation ended before this series was played."),
)
_DUEL = (Purpose.CHALLENGE,)
POLICIES: Mapping[ContestKind, Policy] = {
    ContestKind.EVALUATION: _EVALUATION,
    ContestKind.STAGE: _EVALUATION,
    ContestKind.GATE: Policy(_DUEL, Precedence.NEW_VERSION, _gate_over, open_series=OPEN_SERIES),
    ContestKind.REQUEST: Policy(_DUEL, Precedence.ASKED, _request_over, word="", open_series=OPEN_SERIES, asked=True),
    ContestKind.PANEL: Policy((Purpose.PANEL,), Precedence.PANEL, _panel_over, "panel"),
}


def end_all(session: Session, season_id: int, reason: str, *kinds: ContestKind, entry_id: int | None = None) -> None:
    """End the season's running contests of these kinds, or those of one entry, without a verdict."""
    for row in running(session, season_id, *kinds):
        if entry_id in (None, row.entry_id):
            end(session, row, ContestState.CANCELLED if row.kind in EVALUATIONS else ContestState.ENDED, reason)


def matches_of(session: Session, meeting_ids: Sequence[int]) -> Mapping[int | None, list[int]]:
    """Return the matches of each of these meetings, in their order."""
    matches = defaultdict[int | None, list[int]](list)
    for meeting_id, match_id in session.connection().execute(MATCHES, {"meetings": meeting_ids}):
        matches[meeting_id].append(match_id)
    return matches


MATCHES = (
    columns(col(Series.meeting_id), col(Match.id))
    .join(Match, col(Match.series_id) == Series.id)
    .where(col(Series.meeting_id).in_(bindparam("meetings", expanding=True)))
    .order_by(col(Match.id))
)
