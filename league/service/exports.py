"""A season as flat tables, page by page: everything that is public about it, for spreadsheets and scripts.

Each page is a query of its own above the last key, so that a slow reader holds no transaction open. A seed is told
with its match's result, as everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from league.errors import NotFound
from league.states import MatchState
from league.tables import (
    AbsentEntry,
    Attempt,
    Bot,
    BotVersion,
    Entry,
    LatencySummary,
    Match,
    Participant,
    Season,
    User,
    VoidedMatch,
)
from league.words import Exported

Row = dict[str, Any]
Page = tuple[list[Row], int | None]
"""Rows, and the key above which the next page begins; None: that was all."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a season is wanted: everything, or the matches of one bot with all who played in them."""

    season_id: int
    bot_id: int | None = None

    def of(self, match_id: Any) -> tuple[ColumnElement[bool], ...]:
        """The condition on a column that names a match; none where everything is wanted."""
        if self.bot_id is None:
            return ()
        return (col(match_id).in_(select(Participant.match_id).where(Participant.bot_id == self.bot_id)),)


def export_page(session: Session, scope: Scope, table: Exported, after: int = 0, limit: int = 500) -> Page:
    """The rows of the next `limit` matches (attempts, entries) above `after`. Raises NotFound."""
    if session.get(Season, scope.season_id) is None:
        raise NotFound("season", scope.season_id)
    return _READERS[table](session, scope, after, limit)


def _matches(session: Session, scope: Scope, after: int, limit: int) -> Page:
    statement = select(Match).where(Match.season_id == scope.season_id, Match.id > after, *scope.of(Match.id))
    found = session.exec(statement.order_by(col(Match.id)).limit(limit)).all()
    ids = [match.id for match in found]
    rulings = session.exec(select(VoidedMatch).where(col(VoidedMatch.match_id).in_(ids)))
    rejudged = {ruling.match_id: ruling.rejudged_id for ruling in rulings}
    rows = [
        {
            "match_id": match.id,
            "series_id": match.series_id,
            "number": match.number,
            "state": match.state.value,
            "rated": match.rated,
            "voided": match.id in rejudged,
            "rejudged_as": rejudged.get(match.id),
            "commitment": match.commitment,
            "seed": match.seed.hex() if match.state is MatchState.DONE else None,
            "transcript_sha256": match.transcript_sha256,
            "created_at": match.created_at.isoformat(),
            "finished_at": match.finished_at and match.finished_at.isoformat(),
        }
        for match in found
    ]
    return rows, ids[-1] if len(ids) == limit else None


def _match_ids(session: Session, scope: Scope, after: int, limit: int) -> list[int]:
    statement = select(Match.id).where(Match.season_id == scope.season_id, Match.id > after, *scope.of(Match.id))
    return list(session.exec(statement.order_by(col(Match.id)).limit(limit)))


def _participants(session: Session, scope: Scope, after: int, limit: int) -> Page:
    ids = _match_ids(session, scope, after, limit)
    statement = (
        select(Participant, Bot.name, User.name, BotVersion.number)
        .join(Bot, col(Bot.id) == Participant.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .join(BotVersion, col(BotVersion.id) == Participant.version_id)
        .where(col(Participant.match_id).in_(ids))
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    rows = [
        {
            "match_id": seat.match_id,
            "seat": seat.seat,
            "author": author,
            "bot": bot,
            "version": number,
            "bot_id": seat.bot_id,
            "version_id": seat.version_id,
            "rank": seat.rank,
            "points": seat.points,
            "fault": seat.fault and seat.fault.value,
            "fault_command": seat.fault_command,
            "fault_elapsed_ms": seat.fault_elapsed_ms,
            "fault_why": seat.fault_why,
        }
        for seat, bot, author, number in session.exec(statement)
    ]
    return rows, ids[-1] if len(ids) == limit else None


def _latencies(session: Session, scope: Scope, after: int, limit: int) -> Page:
    ids = _match_ids(session, scope, after, limit)
    statement = (
        select(LatencySummary)
        .where(col(LatencySummary.match_id).in_(ids))
        .order_by(col(LatencySummary.match_id), col(LatencySummary.seat), col(LatencySummary.command))
    )
    return [row.model_dump() for row in session.exec(statement)], ids[-1] if len(ids) == limit else None


def _attempts(session: Session, scope: Scope, after: int, limit: int) -> Page:
    statement = select(Attempt).where(
        Attempt.season_id == scope.season_id, Attempt.id > after, *scope.of(Attempt.match_id)
    )
    found = session.exec(statement.order_by(col(Attempt.id)).limit(limit)).all()
    rows = [
        {
            "attempt_id": row.id,
            "series_id": row.series_id,
            "match_id": row.match_id,
            "series_attempt": row.attempt,
            "worker": row.worker,
            "cause": row.cause,
            "detail": row.detail,
            "evidence": json.dumps(row.evidence, sort_keys=True),
            "started_at": row.started_at and row.started_at.isoformat(),
            "finished_at": row.finished_at.isoformat(),
        }
        for row in found
    ]
    return rows, found[-1].id if len(found) == limit else None


def _entries(session: Session, scope: Scope, after: int, limit: int) -> Page:
    statement = (
        select(Entry, Bot.name, User.name, BotVersion.number)
        .join(Bot, col(Bot.id) == Entry.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .join(BotVersion, col(BotVersion.id) == Entry.version_id)
        .where(Entry.season_id == scope.season_id, Entry.id > after)
        .where(*(() if scope.bot_id is None else (Entry.bot_id == scope.bot_id,)))
        .order_by(col(Entry.id))
        .limit(limit)
    )
    found = session.exec(statement).all()
    absences = select(AbsentEntry).where(AbsentEntry.season_id == scope.season_id)
    absent = {row.bot_id: row for row in session.exec(absences)}
    rows = [
        {
            "author": author,
            "bot": bot,
            "version": number,
            "bot_id": entry.bot_id,
            "version_id": entry.version_id,
            "follows": entry.follows,
            "absence": absent[entry.bot_id].absence.value if entry.bot_id in absent else None,
            "absence_reason": absent[entry.bot_id].reason if entry.bot_id in absent else None,
            "entered_at": entry.created_at.isoformat(),
        }
        for entry, bot, author, number in found
    ]
    return rows, found[-1][0].id if len(found) == limit else None


_READERS: Mapping[Exported, Callable[[Session, Scope, int, int], Page]] = {
    Exported.MATCHES: _matches,
    Exported.PARTICIPANTS: _participants,
    Exported.LATENCIES: _latencies,
    Exported.ATTEMPTS: _attempts,
    Exported.ENTRIES: _entries,
}
