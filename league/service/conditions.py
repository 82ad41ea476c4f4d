"""What went wrong lately, over all seasons: for operators. Each figure is of a bounded number of the newest rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import Session, col, func, select

from league.service.users import Person
from league.states import MatchState
from league.tables import Attempt, Match, Participant

NEWEST = 1000
"""Attempts and matches that the figures are of."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """`voids`: of the newest attempts at matches, how many are void, by cause (our failures). `faults`: of the newest
    finished matches' seats, how many failed, by fault (the bots').
    """

    attempts: int
    voids: Mapping[str, int]
    matches: int
    faults: Mapping[str, int]


def conditions(session: Session, asker: Person) -> Conditions:
    """How the newest matches went. Raises NotAllowed."""
    asker.must_administer()
    newest = select(Attempt.cause).where(col(Attempt.match_id).is_not(None))
    attempts = newest.order_by(col(Attempt.id).desc()).limit(NEWEST).subquery()
    causes = dict(session.exec(select(attempts.c.cause, func.count()).group_by(attempts.c.cause)).all())
    done = select(Match.id).where(Match.state == MatchState.DONE).order_by(col(Match.id).desc()).limit(NEWEST)
    matches = list(session.exec(done).all())
    failed = (Participant.match_id >= min(matches, default=0), col(Participant.fault).is_not(None))
    faults = select(Participant.fault, func.count()).where(*failed).group_by(col(Participant.fault))
    return Conditions(
        attempts=sum(causes.values()),
        voids={cause: count for cause, count in sorted(causes.items()) if cause != "played"},
        matches=len(matches),
        faults={str(fault): count for fault, count in session.exec(faults) if fault is not None},
    )
