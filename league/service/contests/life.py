"""The life of a contest: what differs by its kind, its beginning with a field of players, its meetings, and its end."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, or_
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat.engine.language import N_
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import insert_rows, move
from deadheat.league.service.people import notices
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.states import EVALUATIONS, ContestKind, ContestState, Precedence, Purpose
from deadheat.league.tables import BotVersion, Contest, ContestPlayer, Match, Meeting, MeetingPlayer, Series

log = logging.getLogger(__name__)


Players = Sequence[tuple[int, int]]
"""A field: versions with their bots, the best seed first."""


class Policy(NamedTuple):
    """The rules of a kind: what its series are for, which others these wait behind (`league.service.series.turns`), the
    word of the audit log, and why series are dropped at the end.
    """

    purpose: Purpose
    precedence: Precedence
    word: str = "challenge"
    cause: Cause = Cause.CHALLENGE_OVER
    dropped: str = N_("The challenge ended before this series began.")


_DROPPED = N_("The evaluation ended before this series was played.")
_EVALUATION = Policy(Purpose.EVALUATION, Precedence.EVALUATION, "evaluation", Cause.EVALUATION_OVER, _DROPPED)
POLICIES = {
    ContestKind.EVALUATION: _EVALUATION,
    ContestKind.STAGE: _EVALUATION,
    ContestKind.GATE: Policy(Purpose.CHALLENGE, Precedence.NEW_VERSION),
    ContestKind.REQUEST: Policy(Purpose.CHALLENGE, Precedence.ASKED, ""),
    ContestKind.PANEL: Policy(Purpose.PANEL, Precedence.PANEL, "panel"),
}


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
    """Add meetings, each with its round, its board and its players; one who is alone gets the points of a bye at
    once.
    """
    last = min((number for number, _, _ in places), default=1) - 1
    rows = [
        {"contest_id": contest_id, "round": number, "board": board, "settled": len(players) == 1, **values}
        for number, board, players in places
    ]
    insert_rows(session, Meeting, rows)
    made = session.connection().execute(NEW, {"contest_id": contest_id, "last": last})
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


NEW = columns(col(Meeting.id), col(Meeting.round), col(Meeting.board)).where(
    col(Meeting.contest_id) == bindparam("contest_id"), col(Meeting.round) > bindparam("last")
)


def end(
    session: Session, row: Contest, state: ContestState, reason: str, who: str = SYSTEM, *, told: bool = True
) -> bool:
    """End a contest, so that nothing more of it is played. Return False if it was over. The owners of a candidate are
    told of a gate's verdict, and of a request's end unless not `told`.
    """
    if not move(session, Contest, row.id, ContestState.RUNNING, state, reason=reason, ended_at=now(session)):
        return False
    session.refresh(row)
    policy = POLICIES[row.kind]
    drop = partial(drop_waiting, session, row.season_id, policy.cause, policy.dropped)
    if row.kind in EVALUATIONS:
        drop(col(Series.meeting_id).in_(select(Meeting.id).where(Meeting.contest_id == row.id)))
        facts = {"evaluation": row.id, "number": row.number, "name": row.name}
    else:
        facts = _end_duels(session, row, drop, told)
    if policy.word:
        data = {**facts, "reason": reason}
        record(session, who, f"{policy.word}-{state.value}", f"season/{row.season_id}", data)
    log.info("season %d: %s %d %s: %s", row.season_id, row.kind.value, row.public_id, state.value, reason)
    return True


def _end_duels(session: Session, row: Contest, drop: Callable[[Any], int], told: bool) -> dict[str, Any]:
    """Drop the duels' waiting series and notify people of a gate or a request; return the facts for the audit log."""
    met = session.exec(select(Meeting).where(Meeting.contest_id == row.id)).all()
    for one in met:
        one.planned -= drop(col(Series.meeting_id) == one.id)
    session.flush()
    candidate, *others = session.exec(FIELD, params={"contest_id": row.id}).all()
    facts: dict[str, Any] = {"bot": candidate.bot_id}
    if row.kind is ContestKind.PANEL:
        return {**facts, "version": candidate.number, "points": row.result["points"], "minimum": row.terms["minimum"]}
    score = {name: met[0].score[name] for name in ("wins", "draws", "losses")}
    if row.kind is ContestKind.GATE:
        notices.gate_decided(session, row, candidate)
    elif told:
        notices.challenge_over(session, row, score, candidate, others[0])
    return {**facts, "challenge": row.public_id, **score}


FIELD = (
    select(BotVersion)
    .join(ContestPlayer, col(ContestPlayer.version_id) == BotVersion.id)
    .where(ContestPlayer.contest_id == bindparam("contest_id"))
    .order_by(col(ContestPlayer.seed))
)


def end_all(session: Session, season_id: int, reason: str, *kinds: ContestKind, entry_id: int | None = None) -> None:
    """End the season's running contests of these kinds, or those of one entry, without a verdict."""
    for row in running(session, season_id, *kinds):
        if entry_id in (None, row.entry_id):
            end(session, row, ContestState.CANCELLED if row.kind in EVALUATIONS else ContestState.ENDED, reason)


def matches_of(session: Session, meeting_ids: Sequence[int]) -> Mapping[int | None, list[int]]:
    """Return the matches of each of these meetings, in their order."""
    found = defaultdict[int | None, list[int]](list)
    for meeting_id, match_id in session.connection().execute(MATCHES, {"meetings": meeting_ids}):
        found[meeting_id].append(match_id)
    return found


MATCHES = (
    columns(col(Series.meeting_id), col(Match.id))
    .join(Match, col(Match.series_id) == Series.id)
    .where(col(Series.meeting_id).in_(bindparam("meetings", expanding=True)))
    .order_by(col(Match.id))
)
