"""Decides which matches count: the log of results as a condition on `Match`.

A match counts if it was played to a result, or an organiser decided it, no organiser has voided it, and nobody in it is
disqualified. All of it is read again at each refit, so reversing a ruling restores the previous log.
"""

from sqlalchemy import ColumnElement, and_, exists, text
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.league.states import WITH_RESULT, Absence
from deadheat.league.tables import AbsentEntry, Entry, Match, Participant, Season, VoidedMatch

HELD = text("match.state = 'held'")
"""The condition on `Match` that it waits for an organiser. It is a literal, because otherwise databases do not use the
index of these few rows.
"""

HAS_RESULTS = (
    exists().where(col(Match.season_id) == col(Season.id), col(Match.state).in_(WITH_RESULT)).correlate(Season)
)
"""The condition on `Season` that a match of it has ended with a result."""

SEASONS_AT_A_TIME = 64
"""The number of seasons whose conditions are kept: building one takes longer than executing it."""


def counts(season_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions under which a match is in the season's log of results."""
    return (*happened(season_id), col(Match.rated).is_(True))


def happened(season_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions under which a match counts for statistics of faults: also unrated ones, except those at an
    author's request.
    """
    return (
        col(Match.season_id) == season_id,
        col(Match.state).in_(WITH_RESULT),
        col(Match.asked).is_(None),
        *(col(Match.id).not_in(out) for out in taken_out(season_id)),
    )


def taken_out(season_id: int) -> tuple[SelectOfScalar[int], SelectOfScalar[int]]:
    """Return the statements for the matches that were voided, and for those of disqualified bots."""
    voided = select(VoidedMatch.match_id).where(VoidedMatch.season_id == season_id)
    theirs = (
        select(Participant.match_id)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(Match.season_id == season_id, col(Participant.bot_id).in_(disqualified(season_id)))
    )
    return voided, theirs


def disqualified(season_id: int) -> SelectOfScalar[int]:
    """Return the statement for the disqualified bots, whose matches do not count."""
    absent = select(AbsentEntry.bot_id).where(AbsentEntry.season_id == season_id)
    return absent.where(AbsentEntry.absence == Absence.DISQUALIFIED)


def taking_part(season_id: int) -> ColumnElement[bool]:
    """Return the condition on `Entry` that it is in the season, neither withdrawn nor disqualified."""
    absent = select(AbsentEntry.bot_id).where(AbsentEntry.season_id == season_id)
    return and_(col(Entry.season_id) == season_id, col(Entry.bot_id).not_in(absent))


def may_be_drawn(season_id: int) -> ColumnElement[bool]:
    """Return the condition on `Entry` that its bot takes part, and has the points that the season's panel asks for: the
    field of ladder, evaluations and finals. (The version of an entry is always ready.)
    """
    return and_(taking_part(season_id), col(Entry.waits_for_panel).is_(False))
