"""Recent failures over all seasons, for operators. Each figure covers a bounded number of the newest rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from deadheat.league.service.people.person import Person
from deadheat.league.states import MatchState
from deadheat.league.tables import Attempt, Match, Participant

NEWEST = 1000
"""The number of newest attempts and matches that the figures cover."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """`voids`: how many of the newest attempts at matches are void, by cause (our failures), since the
    end of the oldest of them, or None without any. `faults`: how many seats of the newest finished matches failed, by
    fault (the bots').
    """

    attempts: int
    attempts_since: datetime | None
    voids: Mapping[str, int]
    faults: Mapping[str, int]


def conditions(session: Session, asker: Person) -> Conditions:
    """Return the failures among the newest matches. Raises NotAllowed."""
    asker.must_administer()
    attempts = select(Attempt.cause, Attempt.finished_at).where(col(Attempt.match_id).is_not(None))
    newest = attempts.order_by(col(Attempt.id).desc()).limit(NEWEST).subquery()
    by_cause = select(newest.c.cause, func.count(), func.min(newest.c.finished_at)).group_by(newest.c.cause)
    causes = {cause: (count, first) for cause, count, first in session.exec(by_cause)}
    matches = select(Match.id).where(Match.state == MatchState.DONE)
    done = matches.order_by(col(Match.id).desc()).limit(NEWEST).subquery()
    oldest = session.exec(select(func.min(done.c.id))).one() or 0
    failed = select(Participant.fault, func.count()).where(col(Participant.match_id) >= oldest)
    faults = session.exec(failed.where(col(Participant.fault).is_not(None)).group_by(col(Participant.fault)))
    return Conditions(
        attempts=sum(count for count, _ in causes.values()),
        attempts_since=min((first for _, first in causes.values()), default=None),
        voids={cause: count for cause, (count, _) in sorted(causes.items()) if cause != "played"},
        faults={str(fault): count for fault, count in faults if fault is not None},
    )
