"""Decides who may see a match: everybody, unless its author asked for privacy. No other module decides this.

Lists, feeds, exports and everything else that is the same for everybody leave private matches out (`SHOWN`,
`shown_series`). People who may see a challenge see the whole list of its matches. A single match is looked up for a
person (`must_see`): only the owners of the bot for which it was requested, and organisers without a bot in the season,
or one that left it, can see a private one. For everybody else, including the opponent's owners, it does not exist.
"""

from typing import Any

from sqlalchemy import ColumnElement, Row, or_
from sqlmodel import Session, col, exists, select

from deadheat.league.causes import Cause
from deadheat.league.errors import NotFound
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.states import Asked
from deadheat.league.tables import Attempt, Bot, Contest, ContestPlayer, Entry, Match, Meeting, Series

SHOWN: ColumnElement[bool] = col(Match.asked).is_distinct_from(Asked.PRIVATE)
"""The condition on `Match` that everybody may see it."""

PLANNED: ColumnElement[bool] = col(Match.asked).is_(None)
"""The condition on `Match` that the league planned it. Figures of bots and seasons use only these matches, so that
nobody's request changes another's figures.
"""


def voids_at_planned(season_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on `Attempt` that it is void, at a match that the league planned for the season."""
    cause = col(Attempt.cause)
    void = or_(cause < Cause.PLAYED, cause > Cause.PLAYED)  # for `!=` no database would use the index
    was_asked = exists().where(col(Match.id) == Attempt.match_id, col(Match.asked).is_not(None))
    return col(Attempt.season_id) == season_id, void, col(Attempt.match_id).is_not(None), ~was_asked


def shown_series() -> ColumnElement[bool]:
    """Return the condition on `Series` that everybody may see its matches."""
    of_it = (col(Meeting.id) == Series.meeting_id, col(Contest.id) == Meeting.contest_id)
    return ~exists().where(*of_it, col(Contest.private).is_(True))


def shown_attempt() -> ColumnElement[bool]:
    """Return the condition on `Attempt`, at a match or at a whole series, that everybody may see it."""
    return ~exists().where(col(Series.id) == Attempt.series_id, ~shown_series())


def may_see_games_of(session: Session, viewer: Person | None, contest_id: int) -> bool:
    """Say whether a viewer (None for a stranger) may see the matches of a private request."""
    if viewer is None:
        return False
    own = _own(viewer).where(ContestPlayer.contest_id == contest_id)
    if session.exec(own).first() is not None:
        return True
    rivals = select(Entry.id).join(Bot, col(Bot.id) == Entry.bot_id).where(owned_by(viewer))
    rivals = rivals.join(Contest, col(Contest.season_id) == Entry.season_id).where(Contest.id == contest_id)
    return viewer.organises and session.exec(rivals).first() is None


def _own(viewer: Person) -> Any:
    """Return the statement for the contests that are played for a bot of the viewer."""
    own = select(ContestPlayer.contest_id).join(Bot, col(Bot.id) == ContestPlayer.bot_id)
    return own.where(ContestPlayer.seed == 1, owned_by(viewer))


def is_private(session: Session, match_id: int) -> bool:
    """Say whether a match is not visible to everybody, so that shared caches must not keep documents about it."""
    return session.exec(select(Match.asked).where(Match.id == match_id)).first() is Asked.PRIVATE


def may_see(session: Session, viewer: Person | None, match: Match | Row[Any]) -> bool:
    if match.asked is not Asked.PRIVATE:
        return True
    of_series = select(Meeting.contest_id).join(Series, col(Series.meeting_id) == Meeting.id)
    return may_see_games_of(session, viewer, session.exec(of_series.where(Series.id == match.series_id)).one())


def seen_by_organiser(organiser: Person) -> ColumnElement[bool]:
    """Return the condition on `Match` that this organiser may see it."""
    competes = select(Entry.season_id).join(Bot, col(Bot.id) == Entry.bot_id).where(owned_by(organiser))
    own = select(Series.id).join(Meeting, col(Meeting.id) == Series.meeting_id)
    own = own.where(col(Meeting.contest_id).in_(_own(organiser)))
    return or_(SHOWN, col(Match.season_id).not_in(competes), col(Match.series_id).in_(own))


def must_see(session: Session, viewer: Person | None, match: Match | Row[Any]) -> None:
    if not may_see(session, viewer, match):
        raise NotFound("match", match.id)
