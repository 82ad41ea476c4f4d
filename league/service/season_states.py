"""How seasons go from state to state: by hand, by date, and what belongs to each step.

Theory of operation
-------------------
`league.states` says which state may follow which. Three things move a season: an organiser (`set_season_state`), the
scheduler when a date has come (`turn_seasons`), and the end of its finals (`league.service.finals`). Each is one
compare-and-set, so two of them at once are one step. Dates that passed while the scheduler was away are made up for
one after the other, so that what belongs to a step is never left out:

* frozen: no more entries and versions; challengers at promotion gates go home, for nothing may change any more.
* finals: ladder series that nobody has begun are dropped; those that run are played and count.
* closed: the same for all series. When the last one has ended the standings are published and nothing changes them
  (`league.service.publishing`).
"""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session, col, select

from league.database import now
from league.errors import BadSetting, WrongState
from league.service.audit import SYSTEM, record
from league.service.challenges import end_challenges
from league.service.play import drop_waiting
from league.service.seasons import SeasonInfo, season_info
from league.service.steps import lock_season, move, touch_log
from league.service.users import Person
from league.states import FinalsFormat, Purpose, SeasonState, allowed
from league.tables import Season, Series

SEASON_CLOSED = "season-closed"
"""Cause in the ledger of a series that nobody had begun when its season closed."""

FINALS_BEGAN = "finals-began"
"""The same, of a ladder series when the finals began."""


def set_season_state(session: Session, organiser: Person, season_id: int, after: SeasonState) -> SeasonInfo:
    """Open, close and so on, by hand; asking for the present state changes nothing.

    Raises:
        NotAllowed, NotFound, WrongState.
        BadSetting: the season has no finals, or its date to freeze has passed and would freeze it again at once.
    """
    organiser.must_organise()
    season = lock_season(session, season_id)
    before = season.state
    if before is not after:
        if not allowed(before, after):
            raise WrongState("season", before, f"in a state that {after} may follow")
        if after is SeasonState.FINALS and season.finals is FinalsFormat.NONE:
            raise BadSetting("finals", "this season has none; choose how they are played first")
        if after is SeasonState.OPEN and season.freezes_at is not None and season.freezes_at <= now(session):
            raise BadSetting("freezes_at", "it has passed and would freeze the season at once; change it first")
        change_state(session, season_id, before, after, organiser.name)
    return season_info(session, season_id)


def change_state(
    session: Session, season_id: int, before: SeasonState, after: SeasonState, actor: str = SYSTEM
) -> bool:
    """The transition itself, by compare-and-set, with what belongs to it; False: somebody else was quicker."""
    if not move(session, Season, season_id, before, after):
        return False
    session.get_one(Season, season_id, populate_existing=True)
    record(session, actor, f"season-{after.value}", f"season/{season_id}", {"before": before.value})
    if after in {SeasonState.FROZEN, SeasonState.FINALS, SeasonState.CLOSED}:
        end_challenges(session, season_id, f"The season is {after.value}.")
    if after is SeasonState.FINALS:
        ladder = col(Series.purpose) == Purpose.LADDER
        drop_waiting(session, season_id, FINALS_BEGAN, "The finals began before this series was played.", ladder)
    if after is SeasonState.CLOSED:
        drop_waiting(session, season_id, SEASON_CLOSED, "The season closed before this series was played.")
    if after in {SeasonState.FINALS, SeasonState.CLOSED}:
        touch_log(session, season_id)
    return True


def turn_seasons(session: Session) -> None:
    """Let seasons whose date has come go on, through several states at once if need be."""
    at = now(session)
    going_on = select(Season).where(Season.state != SeasonState.CLOSED).order_by(col(Season.id))
    for season in session.exec(going_on).all():
        while (after := _due(season, at)) is not None:
            if not change_state(session, season.id, season.state, after):
                break


def _due(season: Season, at: datetime) -> SeasonState | None:
    """The state that a date now asks for."""

    def passed(date: datetime | None) -> bool:
        return date is not None and date <= at

    match season.state:
        case SeasonState.SCHEDULED:
            return SeasonState.OPEN if passed(season.opens_at) else None
        case SeasonState.OPEN if passed(season.freezes_at):
            return SeasonState.FROZEN
        case SeasonState.OPEN | SeasonState.FROZEN if passed(season.finals_at):
            return SeasonState.FINALS
        case SeasonState.OPEN | SeasonState.FROZEN | SeasonState.FINALS if passed(season.closes_at):
            return SeasonState.CLOSED
    return None
