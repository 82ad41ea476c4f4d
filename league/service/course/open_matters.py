"""Finds the open matters of a season. Organisers are warned of them before a manual close, and they delay a closing
date.

Standings are final once they are published, so the clock cuts off nothing that may still change them. An open appeal, a
match that waits for an organiser or a replay, and unfinished finals delay a season's closing date. Waiting ladder
series do not: a ladder ends only by its date. So does an evaluation, unless the ledger shows that the service failed at
it: then the closing date waits, and that of the finals, which it may seed.
"""

from dataclasses import dataclass

from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select

from deadheat.engine.figures import counted
from deadheat.engine.language import _
from deadheat.league.causes import DROPPED, Cause
from deadheat.league.states import (
    IN_PLAY,
    UNRATED,
    AppealState,
    ContestKind,
    ContestState,
    FinalsFormat,
    JobState,
    MatchState,
)
from deadheat.league.tables import Appeal, Attempt, Contest, Match, Meeting, Season, Series, VoidedMatch


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Counts of the matters that a close would cut off. `matches` wait to be played, `rejudged` of them by an
    organiser's ruling; matches in progress are left out, because they are played to the end and count. `held`: matches
    that wait for an organiser because we failed at them too often. `finals`: they are due, and not over. `evaluation`:
    the service delayed the one that is being played.
    """

    appeals: int = 0
    matches: int = 0
    rejudged: int = 0
    held: int = 0
    finals: bool = False
    evaluation: bool = False

    @property
    def holds(self) -> bool:
        """Whether the season's closing date waits for these matters."""
        return bool(self.appeals or self.rejudged or self.held or self.finals or self.evaluation)

    @property
    def anything(self) -> bool:
        """Whether a manual close must be confirmed."""
        return self.holds or bool(self.matches)

    def words(self) -> list[str]:
        """Return these matters as parts of a sentence."""
        phrases = []
        if self.appeals:
            phrases.append(counted(self.appeals, "open appeal"))
        if self.matches:
            waiting = counted(self.matches, "match", "matches")
            phrases.append(
                _("%(matches)s still to be played (%(n)s of them by a ruling)", matches=waiting, n=self.rejudged)
                if self.rejudged
                else _("%(matches)s still to be played", matches=waiting)
            )
        if self.held:
            phrases.append(_("%(matches)s held for an organiser", matches=counted(self.held, "match", "matches")))
        if self.finals:
            phrases.append(_("finals that are not over"))
        if self.evaluation:
            phrases.append(_("an evaluation that the service delayed"))
        return phrases

    def noted(self) -> dict[str, object]:
        """Return the counts for the audit log, without zeros."""
        names = ("open_appeals", "unplayed_matches", "held_matches", "finals_cut_off", "evaluation_cut_off")
        values = (self.appeals, self.matches, self.held, self.finals, self.evaluation)
        return {name: value for name, value in zip(names, values, strict=True) if value}


def unfinished(session: Session, season: Season) -> Unfinished:
    """Find the open matters; a season that has not begun, or is closed, has none."""
    if season.state not in IN_PLAY:
        return Unfinished()
    appeals = select(func.count()).select_from(Appeal)
    appeals = appeals.where(Appeal.season_id == season.id, Appeal.state == AppealState.OPEN)
    matches = select(func.count()).select_from(Match).join(Series, col(Series.id) == Match.series_id)
    matches = matches.where(col(Series.purpose).not_in(UNRATED))
    waiting = matches.where(Series.season_id == season.id, Series.state == JobState.QUEUED)
    on_hold = matches.where(Match.season_id == season.id, Match.state == MatchState.HELD)
    again = select(VoidedMatch.rejudged_id).where(VoidedMatch.season_id == season.id)
    return Unfinished(
        appeals=session.exec(appeals).one(),
        matches=session.exec(waiting).one(),
        held=session.exec(on_hold).one(),
        rejudged=session.exec(waiting.where(col(Match.id).in_(again))).one(),
        finals=season.finals is not FinalsFormat.NONE and season.finals_done_at is None,
        evaluation=session.exec(DELAYED, params={"season_id": season.id}).first() is not None,
    )


DELAYED = (
    select(Attempt.id)
    .join(Series, col(Series.id) == Attempt.series_id)
    .join(Meeting, col(Meeting.id) == Series.meeting_id)
    .join(Contest, col(Contest.id) == Meeting.contest_id)
    .where(Contest.season_id == bindparam("season_id"), Contest.state == ContestState.RUNNING)
    .where(Contest.kind == ContestKind.EVALUATION, col(Attempt.cause).not_in({Cause.PLAYED, *DROPPED}))
    .limit(1)
)


def season_unfinished(session: Session, season_id: int) -> Unfinished:
    """Find the open matters of an existing season, by its number."""
    return unfinished(session, session.get_one(Season, season_id))
