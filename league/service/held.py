"""Matches that we failed at too often: an organiser looks at what happened and decides.

Such a match counts for nobody while it waits, and the season does not close over it. Three answers are possible: play
it again (`league.service.rulings.rejudge_match`: another match in its place, with the next seed of its list), decide
it against a seat, or leave it unplayed. Each stands in the audit log with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlmodel import Session, col, select, update

from league.database import now
from league.errors import BadSetting, WrongState
from league.service.dropping import put_back
from league.service.impartiality import judging
from league.service.matches import AttemptInfo, MatchInfo, attempts_at, matches
from league.service.rulings import note_ruling, ruled_on
from league.service.steps import move
from league.service.users import Person
from league.states import MatchState, Purpose
from league.tables import Match, Participant, Series

MOST_HELD = 100
"""Matches that are listed at a time."""


@dataclass(frozen=True, slots=True)
class HeldMatch:
    """A match that waits, with everything that happened to it."""

    match: MatchInfo
    attempts: tuple[AttemptInfo, ...]


def held_matches(session: Session, organiser: Person, *, season_id: int | None = None) -> list[HeldMatch]:
    """Those that wait, the newest first. Raises NotAllowed."""
    organiser.must_organise()
    found = matches(session, season_id=season_id, state=MatchState.HELD, limit=MOST_HELD)
    return [HeldMatch(match, attempts_at(session, match.id, match.series_id)) for match in found]


def decide_match(session: Session, organiser: Person, match_id: int, loser: int, reason: str) -> None:
    """The seat `loser` has lost it, as by a forfeit: nobody has points, and the others are equal.

    Raises:
        NotAllowed, NotFound, OwnMatch.
        WrongState: the match is not held, or its season is closed.
        BadSetting: it has no such seat.
    """
    organiser.must_organise()
    match, own = _held(session, organiser, match_id)
    seats = session.exec(select(Participant.seat).where(Participant.match_id == match_id)).all()
    if loser not in seats:
        raise BadSetting("seat", f"the match has seats 1 to {len(seats)}")
    purpose = session.exec(select(Series.purpose).where(Series.id == match.series_id)).one()
    rated = purpose is not Purpose.CHALLENGE
    move(session, Match, match_id, MatchState.HELD, MatchState.DECIDED, finished_at=now(session), rated=rated)
    for seat in seats:
        rank = len(seats) if seat == loser else 1
        theirs = (col(Participant.match_id) == match_id, col(Participant.seat) == seat)
        session.exec(update(Participant).where(*theirs).values(rank=rank))
    note_ruling(session, organiser, "match-decided", match, reason, {**own, "lost_by_seat": loser + 1})


def leave_match(session: Session, organiser: Person, match_id: int, reason: str) -> None:
    """It is not played, and counts for nobody.

    Raises:
        NotAllowed, NotFound, OwnMatch.
        WrongState: the match is not held, or its season is closed.
    """
    organiser.must_organise()
    match, own = _held(session, organiser, match_id)
    move(session, Match, match_id, MatchState.HELD, MatchState.ABANDONED, finished_at=now(session))
    put_back(session, [match_id])
    note_ruling(session, organiser, "match-left", match, reason, own)


def _held(session: Session, organiser: Person, match_id: int) -> tuple[Match, dict[str, object]]:
    match = ruled_on(session, match_id, or_unplayed=True)
    if match.state is not MatchState.HELD:
        raise WrongState(match.state, "The match does not wait for an organiser.")
    return match, judging(session, organiser, match_id)
