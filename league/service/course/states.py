"""How seasons change their state, manually or by date, and what belongs to each step.

Theory of operation
-------------------
`league.states` says which state may follow which. Three things move a season: an organiser (`set_season_state`), the
scheduler when a date has come (`turn_season`), and the end of its finals (`league.service.course.finals`). Each is one
compare-and-set, so two at once make one step. Dates that passed while the scheduler was away are handled one after the
other, so that no part of a step is left out:

* frozen: no more entries and versions; challengers at promotion gates are dropped, because nothing may change. But
  versions that arrived before still play the panel, and play for their bots if they reach the minimum.
* reopened: versions that became ready meanwhile are offered to the entries that follow their bots.
* finals: ladder series that have not begun are dropped; those in progress are played and count. Unrated matches at
  authors' requests end, and so does an evaluation.
* closed: the same for all series. When the last one has ended the standings are published and nothing changes them
  (`league.service.rankings.standings`).

A close cuts off open matters (`unfinished`). A manual one needs `force`, and the audit log records what was cut off.
Standings are final once they are published, so a closing date waits for what may still change them: an open appeal, a
match that waits for an organiser or a replay, and unfinished finals. An open season freezes meanwhile, and its ladder
plans nothing more. Waiting ladder series delay nothing: a ladder ends only by its date. So does an evaluation, unless
the ledger shows that the service failed at it: then the closing date waits, and that of the finals, which it may seed.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlmodel import Session, col, func, select

from deadheat.engine.figures import counted
from deadheat.engine.language import N_, _, gettext
from deadheat.league.causes import DROPPED, Cause
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, Unsettled, WrongState
from deadheat.league.records.seasons import Season as SeasonInfo
from deadheat.league.service.contests.life import end_all
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import lock_season, move, touch_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import withdraw_inactive
from deadheat.league.service.seasons.entries import offer_newest
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.series.deals import commit_to_dice
from deadheat.league.service.series.dropping import drop_held, drop_waiting
from deadheat.league.states import (
    ENTERABLE,
    IN_PLAY,
    SEASON_STEPS,
    UNRATED,
    AppealState,
    ContestKind,
    ContestState,
    During,
    FinalsFormat,
    JobState,
    MatchState,
    Purpose,
    SeasonState,
    allowed,
    dated_steps,
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


def unfinished(session: Session, season_id: int) -> Unfinished:
    """Find the open matters of an existing season; one that has not begun, or is closed, has none."""
    season = session.get_one(Season, season_id)
    if season.state not in IN_PLAY:
        return Unfinished()
    appeals = select(func.count()).select_from(Appeal)
    appeals = appeals.where(Appeal.season_id == season.id, Appeal.state == AppealState.OPEN)
    matches = select(func.count()).select_from(Match).join(Series, col(Series.id) == Match.series_id)
    matches = matches.where(col(Series.purpose).not_in(UNRATED))
    waiting = matches.where(Series.season_id == season.id, Series.state == JobState.QUEUED)
    on_hold = matches.where(Match.season_id == season.id, Match.state == MatchState.HELD)
    again = select(VoidedMatch.rejudged_id).where(VoidedMatch.season_id == season.id)
    delayed = (
        select(Attempt.id)
        .join(Series, col(Series.id) == Attempt.series_id)
        .join(Meeting, col(Meeting.id) == Series.meeting_id)
        .join(Contest, col(Contest.id) == Meeting.contest_id)
        .where(Contest.season_id == season.id, Contest.state == ContestState.RUNNING)
        .where(Contest.kind == ContestKind.EVALUATION, col(Attempt.cause).not_in({Cause.PLAYED, *DROPPED}))
    )
    return Unfinished(
        appeals=session.exec(appeals).one(),
        matches=session.exec(waiting).one(),
        held=session.exec(on_hold).one(),
        rejudged=session.exec(waiting.where(col(Match.id).in_(again))).one(),
        finals=season.finals is not FinalsFormat.NONE and season.finals_done_at is None,
        evaluation=session.exec(delayed.limit(1)).first() is not None,
    )


def set_season_state(
    session: Session, organiser: Person, season_id: int, after: SeasonState, *, force: bool = False
) -> SeasonInfo:
    """Change a season's state by hand; a change to the present state does nothing. `force`: close despite open matters.
    Raises NotAllowed, NotFound, WrongState; BadSetting: the season has no finals, or a date that has passed would
    freeze or close it again at once; Unsettled: something is open.
    """
    organiser.must_organise()
    season = lock_season(session, season_id)
    before = season.state
    if before is not after:
        if not allowed(before, after):
            steps = [gettext(step.becomes) for state, step in SEASON_STEPS.items() if allowed(before, state)]
            possible = _("it can be %(states)s", states=_(" or ").join(steps)) if steps else _("that is final")
            raise WrongState.of_season(before, possible)
        if after is SeasonState.FINALS and season.finals is FinalsFormat.NONE:
            raise BadSetting("finals", _("this season has none; choose how they are played first"))
        if after is SeasonState.OPEN:
            for state, setting, date in dated_steps(season, SeasonState.OPEN):
                if date <= now(session):
                    becomes = gettext(SEASON_STEPS[state].becomes)
                    sentence = _("it has passed, and the season would be %(becomes)s at once; change it first")
                    raise BadSetting(setting, sentence % {"becomes": becomes})
        if after is SeasonState.CLOSED and not force and (left := unfinished(session, season_id)).anything:
            raise Unsettled(season_id, left.words())
        change_state(session, season_id, before, after, organiser.name)
    return season_info(session, season_id)


def change_state(
    session: Session, season_id: int, before: SeasonState, after: SeasonState, actor: str = SYSTEM
) -> bool:
    """Make the transition, with what belongs to it, by compare-and-set. Return False if somebody else was faster."""
    cut_off = {}
    if after is SeasonState.CLOSED:
        cut_off = unfinished(session, season_id).noted()
    if not move(session, Season, season_id, before, after):
        return False
    season = session.get_one(Season, season_id, populate_existing=True)
    dice = {}
    if before is SeasonState.SCHEDULED and after is SeasonState.OPEN:
        dice = {"dice_commitment": commit_to_dice(session, season)}
    data = {"before": before.value, **cut_off, **dice}
    record(session, actor, after.action, f"season/{season_id}", data)
    if after is SeasonState.OPEN:
        withdraw_inactive(session, season_id)
        offer_newest(session, season)
    if after not in ENTERABLE:
        end_all(session, season_id, f"The season is {after.value}.", ContestKind.GATE)
    if During.LADDER not in after.during:
        end_all(session, season_id, f"The season is {after.words}.", *{*ContestKind} - {ContestKind.GATE})
    if after is SeasonState.FINALS:
        # Without those that repeat a match by a ruling, a voided result would count again.
        repeated = (VoidedMatch.season_id == season_id, col(VoidedMatch.rejudged_id).is_not(None))
        repetitions = col(Match.id).in_(select(VoidedMatch.rejudged_id).where(*repeated))
        ordered = col(Series.id).in_(select(Match.series_id).where(repetitions))
        planned = (col(Series.purpose).in_((Purpose.LADDER, Purpose.CHALLENGE)), ~ordered)
        sentence = N_("The finals began before this series was played.")
        drop_waiting(session, season_id, Cause.FINALS_BEGAN, sentence, *planned)
    if after is SeasonState.CLOSED:
        drop_waiting(session, season_id, Cause.SEASON_CLOSED, N_("The season closed before this series was played."))
        drop_held(session, season_id)
    if During.LADDER not in after.during:
        touch_log(session, season_id)
    return True


def turn_season(session: Session, season: Season) -> None:
    """Move a season whose date has come to its next state, or through several."""
    at = now(session)
    while _due(season, at) is not None:
        lock_season(session, season.id)  # no ruling is made, and no appeal opened, between the check and the step
        after = _due(season, at)  # the date may have been moved in the meantime
        if after is None:
            return
        left = unfinished(session, season.id)
        if left.holds if after is SeasonState.CLOSED else left.evaluation and after is SeasonState.FINALS:
            if season.state not in ENTERABLE:
                return
            after = SeasonState.FROZEN
        if not change_state(session, season.id, season.state, after):
            return


def waits_for(session: Session, season_id: int) -> list[str]:
    """Return the matters for which a season that is due to close waits; none if it is not due."""
    season = session.get_one(Season, season_id)
    if _due(season, now(session)) is not SeasonState.CLOSED:
        return []
    left = unfinished(session, season_id)
    return replace(left, matches=left.rejudged).words() if left.holds else []


def past_its_ladder(season: Season, at: datetime) -> bool:
    """Say whether a date that ends the season's ladder has come; open matters may delay the step itself."""
    return any(date is not None and date <= at for date in (season.finals_at, season.closes_at))


def _due(season: Season, at: datetime) -> SeasonState | None:
    """Return the state that a date, or the end of the finals, requires now."""
    if season.state is SeasonState.FINALS and season.finals_done_at is not None and season.closes_when_done:
        return SeasonState.CLOSED
    for after, _setting, date in dated_steps(season, season.state):
        opened = season.state is not SeasonState.SCHEDULED  # a season that never opened is closed by hand
        if date <= at and allowed(season.state, after) and (opened or after is not SeasonState.CLOSED):
            return after
    return None
