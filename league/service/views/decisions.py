"""Matters that wait for an organiser's decision: the first section of the desk."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from deadheat.engine.language import _
from deadheat.league.database import now
from deadheat.league.records.seasons import Season as SeasonInfo
from deadheat.league.service.course.open_matters import season_unfinished
from deadheat.league.service.ground.counting import HELD
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.privacy import seen_by_organiser
from deadheat.league.states import IN_PLAY, ON_LADDER, AppealState, SeasonState
from deadheat.league.tables import Appeal, Entry, Match


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of waiting matters of one kind, and since when the oldest has waited."""

    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class SeasonWaits:
    """A season that waits for an organiser. `why`: a sentence."""

    season: SeasonInfo
    why: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """All matters that wait. `resting`: by season, how many of its bots rest because they failed too often."""

    appeals: Waiting
    held: Waiting
    seasons: Sequence[SeasonWaits]
    resting: Sequence[tuple[SeasonInfo, int]]


def decisions(session: Session, organiser: Person, seasons: Iterable[SeasonInfo]) -> Decisions:
    """List the matters of these seasons, and the appeals and held matches of all seasons. Raises NotAllowed."""
    organiser.must_organise()
    appeals = select(func.count(), func.min(Appeal.opened_at)).where(Appeal.state == AppealState.OPEN)
    held = select(func.count(), func.min(Match.created_at)).where(HELD, seen_by_organiser(organiser))
    playing = {season.id: season for season in seasons if season.state in IN_PLAY}
    rest = select(Entry.season_id, func.count()).where(col(Entry.rests_since).is_not(None))
    rest = rest.where(col(Entry.season_id).in_(playing)).group_by(col(Entry.season_id))
    waits = ((season, _why(session, season)) for season in playing.values())
    return Decisions(
        appeals=Waiting(*session.exec(appeals).one()),
        held=Waiting(*session.exec(held).one()),
        seasons=[SeasonWaits(season, why) for season, why in waits if why],
        resting=[(playing[season_id], count) for season_id, count in session.exec(rest)],
    )


def _why(session: Session, season: SeasonInfo) -> str:
    """Say why a season does not continue by itself; empty if it does, or if nothing is due."""
    due = season.state in ON_LADDER and season.finals_at is not None and season.finals_at <= now(session)
    if due and season_unfinished(session, season.id).evaluation:
        return _("Its finals are due but wait for an evaluation that the service delayed. Cancel it to begin them.")
    if season.closes_at is None:
        over = season.state is SeasonState.FINALS and season.finals_done_at is not None
        finals_over = _("Its finals are over. Close it to publish the standings.")
        return finals_over if over and not season.closes_when_done else ""
    if season.closes_at <= now(session):
        open_matters = season_unfinished(session, season.id)
        if open_matters.holds:
            return _("It is due to close but waits for %(waits_for)s.", waits_for=", ".join(open_matters.words()))
    return ""
