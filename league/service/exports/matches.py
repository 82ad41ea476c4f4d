"""A season's matches as flat tables. `league.service.series.deals` decides when a match's dice are shown."""

from __future__ import annotations

import json

from sqlmodel import Session, col, select

from deadheat.league.causes import told, told_evidence
from deadheat.league.service.exports.pages import Page, Scope, cell, cells
from deadheat.league.service.ground.lookups import machine_numbers
from deadheat.league.service.series.deals import withheld
from deadheat.league.service.series.privacy import SHOWN, shown_attempt, shown_series
from deadheat.league.service.views.matches import seated
from deadheat.league.service.views.uncounted import bearings
from deadheat.league.states import OF_EVALUATIONS, ContestKind, MatchState
from deadheat.league.tables import Attempt, Contest, LatencySummary, Match, Meeting, Participant, Series, VoidedMatch


def matches(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each match."""
    statement = select(Match).where(Match.season_id == scope.season_id, Match.id > after, SHOWN, *scope.of(Match.id))
    found = session.exec(statement.order_by(col(Match.id)).limit(limit)).all()
    ids = [match.id for match in found]
    rulings = session.exec(select(VoidedMatch).where(col(VoidedMatch.match_id).in_(ids)))
    rejudged = {ruling.match_id: ruling.rejudged_id for ruling in rulings}
    known = bearings(session, found)
    untold = withheld(session, found)
    rows = [
        {
            "match_id": match.id,
            **cells(match, "series_id", "number", "state", "rated"),
            **cells(match, "asked"),
            "uncounted": cell(why.cause) if (why := known[match.id].uncounted) else None,
            "voided": match.id in rejudged,
            "rejudged_as": rejudged.get(match.id),
            "commitment": match.commitment,
            "seed": match.seed.hex() if match.state is MatchState.DONE and match.id not in untold else None,
            **cells(match, "deal", "attempt"),
            "transcript_sha256": None if match.id in untold else match.transcript_sha256,
            "comeback": None if match.id in untold else match.comeback,
            **cells(match, "created_at", "finished_at"),
        }
        for match in found
    ]
    return rows, ids[-1] if len(ids) == limit else None


def _match_ids(session: Session, scope: Scope, after: int, limit: int) -> list[int]:
    statement = select(Match.id).where(Match.season_id == scope.season_id, Match.id > after, SHOWN)
    statement = statement.where(*scope.of(Match.id))
    return list(session.exec(statement.order_by(col(Match.id)).limit(limit)))


IN_FRONT = {"match_id", "seat", "bot_id", "version_id"}
LEFT_OUT = {"finished_at", "fault_why"}
"""The column of a participant that its match has, and the one that may be withheld."""

FARED = [name for name in Participant.model_fields if name not in IN_FRONT | LEFT_OUT]


def participants(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each seat of a match."""
    ids = _match_ids(session, scope, after, limit)
    untold = withheld(session, session.exec(select(Match).where(col(Match.id).in_(ids))).all())
    rows = [
        {
            **cells(seat, "match_id", "seat"),
            "author": seat.author,
            "bot": seat.bot,
            "version": seat.number,
            **cells(seat, "bot_id", "version_id", *FARED),
            "fault_why": None if seat.match_id in untold else seat.fault_why,
        }
        for seat in seated(session, ids)
    ]
    return rows, ids[-1] if len(ids) == limit else None


def latencies(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each command that a seat answered in a match."""
    ids = _match_ids(session, scope, after, limit)
    statement = (
        select(LatencySummary)
        .where(col(LatencySummary.match_id).in_(ids))
        .order_by(col(LatencySummary.match_id), col(LatencySummary.seat), col(LatencySummary.command))
    )
    rows = [cells(row, *LatencySummary.model_fields) for row in session.exec(statement)]
    return rows, ids[-1] if len(ids) == limit else None


def attempts(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each try at a match, or at a series as a whole."""
    statement = select(Attempt).where(
        Attempt.season_id == scope.season_id, Attempt.id > after, shown_attempt(), *scope.of(Attempt.match_id)
    )
    found = session.exec(statement.order_by(col(Attempt.id)).limit(limit)).all()
    machines = machine_numbers(session, {row.worker for row in found})
    rows = [
        {
            "attempt_id": row.id,
            **cells(row, "series_id", "match_id"),
            "series_attempt": row.attempt,
            "seed_number": row.seed_number,
            "machine": machines.get(row.worker),
            "cause": row.cause,
            "detail": told(row.cause, row.detail),
            "evidence": json.dumps(told_evidence(row.evidence), sort_keys=True),
            **cells(row, "started_at", "finished_at"),
        }
        for row in found
    ]
    return rows, found[-1].id if len(found) == limit else None


NUMBERED = {"gate_id": ContestKind.GATE, "panel_id": ContestKind.PANEL}
"""The columns with the number of a series' contest, by the kind of this."""


def series(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each series: matches between the same versions, played in one go for one purpose."""
    statement = select(Series).where(Series.season_id == scope.season_id, Series.id > after, shown_series())
    if scope.bot_id is not None:
        theirs = select(Match.series_id).join(Participant, col(Participant.match_id) == Match.id)
        statement = statement.where(col(Series.id).in_(theirs.where(Participant.bot_id == scope.bot_id)))
    found = session.exec(statement.order_by(col(Series.id)).limit(limit)).all()
    machines = machine_numbers(session, {row.worker for row in found})
    met = select(Meeting.id, Contest).join(Contest, col(Contest.id) == Meeting.contest_id)
    met = met.where(col(Meeting.id).in_({row.meeting_id for row in found}))
    of = {(meeting_id, one.kind): one.public_id for meeting_id, one in session.exec(met)}
    rows = [
        {
            "series_id": row.id,
            **cells(row, "purpose", "round"),
            **{name: of.get((row.meeting_id or 0, kind)) for name, kind in NUMBERED.items()},
            "pairing_id": row.meeting_id if row.purpose in OF_EVALUATIONS else None,
            "state": row.state.value,
            "attempts": row.attempt,
            "machine": machines.get(row.worker),
            **cells(row, "created_at", "started_at", "finished_at"),
        }
        for row in found
    ]
    return rows, found[-1].id if len(found) == limit else None
