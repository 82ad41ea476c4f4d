"""Matches that the service failed to play too often: an organiser looks at the evidence and decides.

Such a match counts for nobody while it waits, and the season does not close over it. Three answers are possible: play
it again (`league.service.rulings.rulings.rejudge_match`: another match in its place, with its own dice), decide it
against a seat, or leave it unplayed. The audit log records each with its reason.
"""

from collections.abc import Mapping

from sqlmodel import Session, col, func, select, update

from deadheat.engine.language import _
from deadheat.league.errors import BadSetting, WrongState
from deadheat.league.records.matches import MatchDetail
from deadheat.league.service.ground.counting import HELD
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.rulings import answer_held, judging, note_ruling, ruled_on
from deadheat.league.service.series.dropping import put_back
from deadheat.league.service.series.privacy import seen_by_organiser
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import UNRATED, MatchState
from deadheat.league.tables import Match, Participant, Season, Series


def held_matches(session: Session, organiser: Person, limit: int = 100) -> list[MatchDetail]:
    """List held matches that the organiser may see, the oldest first, each with its whole history. Raises
    NotAllowed.
    """
    organiser.must_organise()
    # Ordered by the number itself, SQLite walked through all matches until it had found enough.
    held = select(Match.id).where(HELD, seen_by_organiser(organiser)).order_by(col(Match.id) + 0)
    return [match_detail(session, match_id, organiser) for match_id in session.exec(held.limit(limit)).all()]


def held_by_game(session: Session) -> Mapping[str, int]:
    """Count held matches by game; games without any are left out."""
    counted = select(Season.game, func.count()).join(Match, col(Match.season_id) == Season.id).where(HELD)
    return dict(session.exec(counted.group_by(col(Season.game))).all())


def decide_match(session: Session, organiser: Person, match_id: int, loser: int, reason: str) -> None:
    """Decide a held match against the seat `loser`, as by a forfeit: no points, and the others are equal.

    Raises:
        NotAllowed, NotFound, OwnMatch.
        WrongState: the match is not held, or its season is closed.
        BadSetting: it has no such seat.
    """
    organiser.must_organise()
    match, own = _held(session, organiser, match_id)
    seats = session.exec(select(Participant.seat).where(Participant.match_id == match_id)).all()
    if loser not in seats:
        raise BadSetting("seat", _("the match has seats 1 to %(last)s", last=len(seats)))
    purpose = session.exec(select(Series.purpose).where(Series.id == match.series_id)).one()
    answer_held(session, match_id, MatchState.DECIDED, rated=purpose not in UNRATED)
    for seat in seats:
        rank = len(seats) if seat == loser else 1
        theirs = (col(Participant.match_id) == match_id, col(Participant.seat) == seat)
        session.exec(update(Participant).where(*theirs).values(rank=rank))
    note_ruling(session, organiser, "match-decided", match, reason, {**own, "lost_by_seat": loser + 1})


def leave_match(session: Session, organiser: Person, match_id: int, reason: str) -> None:
    """Leave a held match unplayed; it counts for nobody. Raises NotAllowed, NotFound, OwnMatch; WrongState: the match
    is not held, or its season is closed.
    """
    organiser.must_organise()
    match, own = _held(session, organiser, match_id)
    answer_held(session, match_id, MatchState.ABANDONED)
    put_back(session, [match_id])
    note_ruling(session, organiser, "match-left", match, reason, own)


def _held(session: Session, organiser: Person, match_id: int) -> tuple[Match, dict[str, object]]:
    match = ruled_on(session, organiser, match_id, or_unplayed=True)
    if match.state is not MatchState.HELD:
        raise WrongState(match.state, _("The match is not waiting for an organiser."))
    return match, judging(session, organiser, match_id)
