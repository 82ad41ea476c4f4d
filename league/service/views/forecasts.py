"""Forecasts for a season in its present state: when its ladder, evaluations and finals will be done."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import comb

from sqlmodel import Session, col, func, select

from deadheat.engine.language import _, ngettext
from deadheat.league.database import now
from deadheat.league.pairing.stages import stages
from deadheat.league.pairing.tournament import Form
from deadheat.league.records.seasons import Forecast, ForecastEvaluation
from deadheat.league.service.course.finals import finals_form
from deadheat.league.service.evaluations.beginning import due_since, running_evaluation
from deadheat.league.service.evaluations.playing import form_of, last_round
from deadheat.league.service.ground.counting import may_be_drawn, taking_part
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.capacity import SEASONS, machines_for
from deadheat.league.service.series.hosts import judging_slots
from deadheat.league.service.series.pace import (
    Machines,
    Pace,
    Work,
    done_in_gaps,
    foresee,
    tournament,
    tournaments,
    warnings,
)
from deadheat.league.service.series.planning import matches_of_each, series_at_once, whole_groups
from deadheat.league.states import (
    WITH_RESULT,
    EvaluationFormat,
    FinalsFormat,
    MatchState,
    Purpose,
    SeasonState,
    dated_steps,
)
from deadheat.league.tables import Contest, ContestPlayer, Entry, Match, Meeting, Pair, Season, Series
from deadheat.league.timetable import next_after, stamp, timetable


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
    field, machines = sum(fields), machines_for(session, season)
    pace, length = machines.pace, matches_of_each(season, season.series_length)
    at, until = now(session), season.finals_at or season.closes_at
    begins = max(at, _resumes_at(season) or at)
    coming = _coming(session, season, machines, field, begins)
    bounded = season.ladder and season.games_per_pair is not None and not season.state.ladder_is_over
    bounded = bounded and season.settled_until is None  # while it rests, nobody knows when it plays the rest
    ladder = _ladder(session, season, fields, entries if bots is None else {}) if bounded else None
    left = Work(1, -(-(ladder or 0) // length), length)  # all of it may be played at once
    ladder_done = done_in_gaps(machines.seconds([left]), begins, coming) if ladder else None
    finals = [] if season.finals_done_at or field < 2 else _finals(season, fields)
    done_at = _finals_done(session, season, machines, finals)
    panel = len(season.panel or ())
    told = [*_shortcomings(session, season, field), *warnings(coming, until)]
    told += _overruns(season, ladder_done, done_at, until)
    matches = [matches_of_each(season, line.matches) for line in timetable(season.evaluations)]
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
        panel_matches=panel * season.panel_games,
        panel_seconds=round(panel * pace.seconds(season.panel_games), 1),
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
    running = _running(session, season, row, machines_for(session, season))
    return (running, following) if running.done_at > following else None


def _resumes_at(season: Season) -> datetime | None:
    """Return the date of the step to the next state in which matches are played, if none are now and it has a date."""
    following = (state for state in SeasonState if state.is_after(season.state) and not state.holds)
    resumed = next(following) if season.state.holds else None
    return next((date for state, _setting, date in dated_steps(season, season.state) if state is resumed), None)


def _entries(session: Session, season: Season) -> dict[int, int]:
    """Return the versions that an evaluation would include now, with their divisions."""
    there = taking_part if season.state is SeasonState.SCHEDULED else may_be_drawn  # no panel is played before it opens
    return dict(session.exec(select(Entry.version_id, Entry.division).where(there(season.id))).all())


# What is played -----------------------------------------------------------------------------------------------------


def _ladder_seconds(season: Season, pace: Pace) -> float:
    """Return how long the ladder's series hold a slot that an evaluation waits for."""
    beside = season.ladder and season.ladder_during_evaluations
    return pace.seconds(matches_of_each(season, season.series_length)) if beside else 0.0


def _coming(
    session: Session, season: Season, machines: Machines, field: int, begins: datetime
) -> list[ForecastEvaluation]:
    if season.state.ladder_is_over:
        return []
    row = running_evaluation(session, season.id)
    running = None if row is None else _running(session, season, row, machines)
    if field < 2 and running is None:
        return []
    lines, took = timetable(season.evaluations), {}
    for line in lines:
        form = Form(line.format, line.rounds or 0, whole_groups(season, line.matches), seats=season.seats)
        works = tournament(form, field, series_at_once(season))
        seconds = machines.seconds(works, _ladder_seconds(season, machines.pace))
        took[line.name] = (sum(work.all_matches for work in works), seconds)
    until = season.finals_at or season.closes_at
    return foresee(lines, took, due_since(session, season), begins, until, running)


def _running(session: Session, season: Season, row: Contest, machines: Machines) -> ForecastEvaluation:
    """Return the forecast for the evaluation in progress."""
    at = now(session)
    players = session.exec(select(func.count()).where(col(ContestPlayer.contest_id) == row.id)).one()
    works = tournament(form_of(season, row), players, series_at_once(season))
    ladder_seconds = _ladder_seconds(season, machines.pace) if row.stage is None else 0.0
    if row.format is EvaluationFormat.KNOCKOUT:
        done_at = max(at, row.created_at + timedelta(seconds=machines.seconds(works)))
    else:
        open_ones = select(func.count()).where(col(Meeting.contest_id) == row.id, ~col(Meeting.settled))
        rounds, further = works[:1], works[1:]
        tables = sum(work.series for work in rounds) // series_at_once(season)  # of a round; in a round robin, of all
        undrawn = max(0, row.rounds - last_round(session, row.id)) * tables  # none in a round robin
        share = (session.exec(open_ones).one() + undrawn) / max(1, sum(work.pools for work in rounds) * tables)
        left = machines.seconds(rounds, ladder_seconds) * share + machines.seconds(further)
        done_at = at + timedelta(seconds=left)
    matches = sum(work.all_matches for work in works)
    return ForecastEvaluation(row.name, row.due_at, row.created_at, done_at, matches)


def _ladder(session: Session, season: Season, fields: Sequence[int], versions: dict[int, int]) -> int:
    """Return the number of matches left to a ladder with a bound, of whose bots `versions` are known."""
    assert season.games_per_pair is not None
    each = whole_groups(season, season.games_per_pair)
    pairs = sum(comb(field, 2) for field in fields)
    planned = waiting = 0
    if versions and season.state is not SeasonState.SCHEDULED:
        inside = (col(Pair.low_id).in_(versions), col(Pair.high_id).in_(versions))
        games = session.exec(select(Pair.games).where(Pair.season_id == season.id, *inside)).all()
        planned = sum(min(each, count) for count in games)
        waiting = _count(session, season, Purpose.LADDER, MatchState.SCHEDULED)
    return -(-max(0, pairs * each - planned) // comb(season.seats, 2)) + waiting


def _finals(season: Season, fields: Sequence[int]) -> list[list[Work]]:
    """Return the work of the finals: by stage, or all at once."""
    players = [min(field, season.finals_top or field) for field in fields]
    if season.finals is FinalsFormat.NONE:
        return []
    if season.finals is FinalsFormat.STAGES:
        whole = partial(whole_groups, season)
        return tournaments(stages(season.stages), sum(players), season.seats, series_at_once(season), whole)
    found = []
    for finalists in players:
        found += tournament(finals_form(season, finalists), finalists, series_at_once(season))
        each = matches_of_each(season, season.finals_games)
        found.append(Work(1, -(-season.finals_extra_games // each), each))
    return [found]


def _finals_done(
    session: Session, season: Season, machines: Machines, finals: Sequence[Sequence[Work]]
) -> datetime | None:
    """Return when the finals, or the rest of them, will be over, or None if their beginning is unknown."""
    seconds = [machines.seconds(works) for works in finals]
    if not finals or season.state is not SeasonState.FINALS:
        return season.finals_at + timedelta(seconds=sum(seconds)) if finals and season.finals_at else None
    if season.finals is FinalsFormat.STAGES:
        row = running_evaluation(session, season.id)
        at = now(session) if row is None else _running(session, season, row, machines).done_at
        return at + timedelta(seconds=sum(seconds[0 if row is None else row.stage or 1 :]))
    every = sum(work.all_matches for works in finals for work in works)
    left = max(0.0, 1 - _count(session, season, Purpose.FINALS, *WITH_RESULT) / max(1, every))
    return now(session) + timedelta(seconds=sum(seconds) * left)


def _count(session: Session, season: Season, purpose: Purpose, *states: MatchState) -> int:
    """Count the matches of one purpose in these states."""
    found = select(func.count()).select_from(Match).join(Series, col(Series.id) == Match.series_id)
    found = found.where(Match.season_id == season.id, Series.purpose == purpose)
    return session.exec(found.where(col(Match.state).in_(states))).one()


# What is wrong ------------------------------------------------------------------------------------------------------


def _shortcomings(session: Session, season: Season, field: int) -> Iterator[str]:
    if not season.state.goes_on or not (season.evaluations or season.finals is not FinalsFormat.NONE):
        return
    if not judging_slots(session):
        yield _("No machine is judging now; this assumes one slot.")
    if field < 2:
        yield _("Fewer than two bots have entered; say how many you expect.")
    if season.state.holds and _resumes_at(season) is None and season.evaluations:
        yield _("The season has no opening date; this assumes that it is open when they begin.")
    if beside := session.exec(SEASONS.where(Season.id != (season.id or 0))).one():
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
