"""Forecasts for a season in its present state: the inputs and warnings of `evaluations.forecast`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from math import comb

from sqlmodel import Session, col, func, select

from deadheat.engine.games.folder import folders
from deadheat.engine.language import _, ngettext
from deadheat.league.database import now
from deadheat.league.records.forecasts import Forecast, ForecastEvaluation
from deadheat.league.service.evaluations.beginning import running_evaluation
from deadheat.league.service.evaluations.forecast import (
    ESTIMATE,
    Course,
    Machines,
    Pace,
    Played,
    Work,
    done_in_gaps,
    evaluation_work,
    foresee,
    measured,
    next_after,
    warnings,
)
from deadheat.league.service.ground.counting import may_be_drawn, taking_part
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.hosts import judging_slots
from deadheat.league.service.series.planning import matches_of_each, series_at_once, whole_groups
from deadheat.league.service.views.foreseen import finals_done, finals_work, left_of
from deadheat.league.states import IN_PLAY, FinalsFormat, JobState, MatchState, Purpose, SeasonState, dated_steps
from deadheat.league.tables import Entry, Evaluation, Match, Pair, Season, Series
from deadheat.league.timetable import DeclaredEvaluation, stamp, timetable

NEWEST = 100
"""The number of series from which the pace is measured: few, so that a machine that has become slower, or whose
neighbours take its time, shows within minutes.
"""


def season_forecast(session: Session, organiser: Person, season_id: int, bots: int | None = None) -> Forecast:
    """Return the forecast for an existing season. `bots`: the number to assume; None for those that have entered.
    Raises NotAllowed, NotFound.
    """
    organiser.must_organise()
    return forecast(session, existing(session, Season, season_id), bots)


def forecast(session: Session, season: Season, bots: int | None = None) -> Forecast:
    """Return the forecast for a stored season, or for one in memory, which has no number if it is new."""
    entries = _entries(session, season)
    fields = [bots] if bots is not None else list(Counter(entries.values()).values())
    field = sum(fields)
    slots, pace = judging_slots(session), pace_of(session, season)
    length = whole_groups(season, season.series_length) // series_at_once(season)
    machines = Machines(max(1, slots), pace)
    beside = replace(machines, ladder_seconds=pace.seconds(length) if _goes_on_beside(season) else 0.0)
    lines, at, until = timetable(season.evaluations), now(session), season.finals_at or season.closes_at
    begins = max(at, _resumes_at(season) or at)
    coming = _coming(session, season, lines, field, beside, Course(season.evaluations_at or at, begins, until))
    bounded = season.ladder and season.games_per_pair is not None and not season.state.ladder_is_over
    ladder = _ladder(session, season, fields, entries if bots is None else {}) if bounded else None
    left = Work(1, -(-(ladder or 0) // length), length)  # all of it may be played at once
    ladder_done = done_in_gaps(machines.seconds(left), begins, coming) if ladder else None
    finals = [] if season.finals_done_at or field < 2 else list(finals_work(season, fields))
    done_at = finals_done(session, season, machines, finals)
    panel = len(season.panel or ()) * season.panel_games
    told = [*_shortcomings(session, season, field, slots), *warnings(coming, until)]
    told += _overruns(season, ladder_done, done_at, until)
    matches = [matches_of_each(season, line.matches) for line in lines]
    return Forecast(
        season_id=season.id,
        bots=field,
        slots=machines.slots,
        series_measured=pace.series,
        start_seconds=round(pace.start_seconds, 3),
        match_seconds=round(pace.match_seconds, 4),
        turn_seconds=round(pace.turn_seconds, 3),
        matches_a_minute=round(pace.matches_a_minute(length, machines.slots), 1),
        evaluation_matches_a_minute=round(pace.matches_a_minute(matches[0], machines.slots), 1) if matches else None,
        panel_matches=panel,
        panel_seconds=round(len(season.panel or ()) * pace.seconds(season.panel_games), 1),
        ladder_matches=ladder,
        ladder_done_at=ladder_done,
        evaluations=coming,
        finals_matches=sum(work.all_matches for works in finals for work in works),
        finals_done_at=done_at,
        warnings=told,
    )


def falls_behind(session: Session, season: Season) -> tuple[ForecastEvaluation, datetime] | None:
    """Return the evaluation in progress if it will be late, and the date of its successor or of what ends it."""
    row = running_evaluation(session, season.id)
    if row is None or row.stage is not None:
        return None
    dates = next_after(timetable(season.evaluations), row.due_at), season.finals_at or season.closes_at
    following = min(filter(None, dates), default=None)
    if following is None:
        return None
    pace = pace_of(session, season)
    machines = Machines(max(1, judging_slots(session)), pace)
    if _goes_on_beside(season):
        machines = replace(machines, ladder_seconds=pace.seconds(season.series_length))
    running = left_of(session, season, row, machines)
    return (running, following) if running.done_at > following else None


def _resumes_at(season: Season) -> datetime | None:
    """Return the date of the step to the next state in which matches are played, if none are now and it has a date."""
    following = (state for state in SeasonState if state.is_after(season.state) and not state.holds)
    resumed = next(following) if season.state.holds else None
    return next((date for state, _setting, date in dated_steps(season, season.state) if state is resumed), None)


def _goes_on_beside(season: Season) -> bool:
    return season.ladder and season.ladder_during_evaluations


def pace_of(session: Session, season: Season) -> Pace:
    """Return the measured pace of the season's game, in this season or else in the last one with enough matches."""
    others = select(Season.id).where(Season.game == season.game, Season.id != (season.id or 0))
    newest = session.exec(others.order_by(col(Season.id).desc()).limit(5)).all()
    estimate, slots = _estimate(season.game), max(1, judging_slots(session))
    for season_id in ([season.id] if _exists(season) else []) + list(newest):
        if (pace := measured(_played(session, season_id), estimate, slots)).series:
            return pace
    return estimate


def _estimate(game: str) -> Pace:
    folder = folders().get(game)
    return Pace(*folder.pace) if folder and folder.pace else ESTIMATE


def _played(session: Session, season_id: int) -> list[Played]:
    """Return the newest series that needed only one attempt."""
    whole = select(Series).where(Series.season_id == season_id, Series.state == JobState.DONE, Series.attempt == 1)
    rows = session.exec(whole.order_by(col(Series.finished_at).desc()).limit(NEWEST)).all()
    counts = select(Match.series_id, func.count()).where(col(Match.series_id).in_([row.id for row in rows]))
    matches = dict(session.exec(counts.where(Match.state == MatchState.DONE).group_by(col(Match.series_id))).all())
    return [
        Played(matches[row.id], row.queued_at, row.started_at, row.finished_at)
        for row in rows
        if row.started_at is not None and row.finished_at is not None and row.id in matches
    ]


def _exists(season: Season) -> bool:
    """Say whether the season exists. A preview of a new one has no number."""
    number: object = season.id
    return number is not None


def _entries(session: Session, season: Season) -> dict[int, int]:
    """Return the versions that an evaluation would include now, with their divisions."""
    if not _exists(season):
        return {}
    there = taking_part if season.state is SeasonState.SCHEDULED else may_be_drawn  # no panel is played before it opens
    return dict(session.exec(select(Entry.version_id, Entry.division).where(there(season.id))).all())


# What is played -----------------------------------------------------------------------------------------------------


def _coming(
    session: Session,
    season: Season,
    lines: Sequence[DeclaredEvaluation],
    field: int,
    machines: Machines,
    course: Course,
) -> list[ForecastEvaluation]:
    if season.state.ladder_is_over or not (lines or _exists(season)):
        return []
    took = {}
    for line in lines:
        work = evaluation_work(line, field, season.seats, series_at_once(season), matches_of_each(season, line.matches))
        took[line.name] = (work.all_matches, machines.seconds(work))
    if _exists(season):
        newest = select(Evaluation.name, func.max(Evaluation.due_at)).where(Evaluation.season_id == season.id)
        begun = dict(session.exec(newest.group_by(Evaluation.name)).all())
        row = running_evaluation(session, season.id)
        running = None if row is None else left_of(session, season, row, machines)
        course = replace(course, begun=begun, running=running)
    if field < 2 and course.running is None:
        return []
    return foresee(lines, took, course)


def _ladder(session: Session, season: Season, fields: Sequence[int], versions: dict[int, int]) -> int:
    """Return the number of matches left to a ladder with a bound, of whose bots `versions` are known."""
    assert season.games_per_pair is not None
    each = whole_groups(season, season.games_per_pair)
    pairs = sum(comb(field, 2) for field in fields)
    planned = waiting = 0
    if versions and season.state is not SeasonState.SCHEDULED:
        inside = (col(Pair.low_id).in_(versions), col(Pair.high_id).in_(versions))
        games = session.exec(select(Pair.games).where(Pair.season_id == season.id, *inside)).all()
        planned, waiting = sum(min(each, count) for count in games), _waiting(session, season)
    return -(-max(0, pairs * each - planned) // comb(season.seats, 2)) + waiting


def _waiting(session: Session, season: Season) -> int:
    """Return the number of matches of the ladder that are planned but not played."""
    waiting = select(func.count()).select_from(Match).join(Series, col(Series.id) == Match.series_id)
    waiting = waiting.where(Match.season_id == season.id, Series.purpose == Purpose.LADDER)
    return session.exec(waiting.where(Match.state == MatchState.SCHEDULED)).one()


# What is wrong ------------------------------------------------------------------------------------------------------


def _shortcomings(session: Session, season: Season, field: int, slots: int) -> Iterator[str]:
    if not season.state.goes_on or not (season.evaluations or season.finals is not FinalsFormat.NONE):
        return
    if slots == 0:
        yield _("No machine is judging now; this assumes one slot.")
    if field < 2:
        yield _("Fewer than two bots have entered; say how many you expect.")
    if season.state.holds and _resumes_at(season) is None and season.evaluations:
        yield _("The season has no opening date; this assumes that it is open when they begin.")
    others = select(func.count()).select_from(Season).where(col(Season.state).in_(IN_PLAY))
    if beside := session.exec(others.where(Season.id != (season.id or 0))).one():
        yield ngettext(
            "%(n)s other season is being played on the same machines; this does not take them into account.",
            "%(n)s other seasons are being played on the same machines; this does not take them into account.",
            beside,
        ) % {"n": beside}


def _overruns(
    season: Season, ladder: datetime | None, finals: datetime | None, until: datetime | None
) -> Iterator[str]:
    if ladder is not None and until is not None and ladder > until:
        yield _("The ladder will take until %(at)s, and is cut off at %(until)s.", at=stamp(ladder), until=stamp(until))
    if finals is not None and season.closes_at is not None and finals > season.closes_at:
        closes = stamp(season.closes_at)
        yield _("The finals will take until %(at)s; the season closes at %(closes)s.", at=stamp(finals), closes=closes)
