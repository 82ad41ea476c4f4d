"""The rest of a season's finals and of its running evaluation, and when it will be played, for a forecast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import comb

from sqlmodel import Session, col, func, select

from deadheat.league.database import now
from deadheat.league.pairing.rounds import swiss_rounds
from deadheat.league.pairing.stages import stages
from deadheat.league.records.forecasts import ForecastEvaluation
from deadheat.league.service.evaluations.beginning import running_evaluation
from deadheat.league.service.evaluations.forecast import Machines, Work, stage_work
from deadheat.league.service.evaluations.playing import last_round
from deadheat.league.service.series.planning import matches_of_each, series_at_once, whole_groups
from deadheat.league.states import WITH_RESULT, EvaluationFormat, EvaluationState, FinalsFormat, Purpose, SeasonState
from deadheat.league.tables import Evaluation, EvaluationPlayer, Match, Meeting, Season, Series


def finals_work(season: Season, fields: Sequence[int]) -> Iterator[list[Work]]:
    """Return the work of the finals: by stage, or all at once."""
    if season.finals is FinalsFormat.STAGES:
        players = sum(min(field, season.finals_top or field) for field in fields)
        whole = partial(whole_groups, season)
        yield from stage_work(stages(season.stages), players, season.seats, series_at_once(season), whole)
    elif season.finals is not FinalsFormat.NONE:
        yield list(_rounds_and_extra(season, fields))


def _rounds_and_extra(season: Season, fields: Sequence[int]) -> Iterator[Work]:
    at_once = series_at_once(season)
    each = matches_of_each(season, season.finals_games)
    for field in fields:
        finalists = min(field, season.finals_top or field)
        if season.finals is FinalsFormat.ROUND_ROBIN:
            yield Work(1, comb(finalists, 2) * at_once, each)
        else:
            rounds = swiss_rounds(season.finals_rounds, finalists)
            yield Work(rounds, finalists // season.seats * at_once, each)
        if season.finals_extra_games:
            yield Work(1, -(-season.finals_extra_games // each), each)


def finals_done(
    session: Session, season: Season, machines: Machines, finals: Sequence[Sequence[Work]]
) -> datetime | None:
    """Return when the finals, or the rest of them, will be over, or None if their beginning is unknown."""
    seconds = [sum(machines.seconds(work) for work in works) for works in finals]
    if not finals or season.state is not SeasonState.FINALS:
        return season.finals_at + timedelta(seconds=sum(seconds)) if finals and season.finals_at else None
    at = now(session)
    if season.finals is FinalsFormat.STAGES:
        row = running_evaluation(session, season.id)
        number = 1 if row is None or row.stage is None else row.stage
        if row is not None and row.format is not EvaluationFormat.KNOCKOUT:
            further = sum(machines.seconds(work) for work in finals[number - 1][1:])
            at = left_of(session, season, row, machines).done_at + timedelta(seconds=further)
        elif row is not None:
            at = max(at, row.created_at + timedelta(seconds=seconds[number - 1]))
        return at + timedelta(seconds=sum(seconds[number - (row is None) :]))
    every = sum(work.all_matches for works in finals for work in works)
    over = select(func.count()).select_from(Match).join(Series, col(Series.id) == Match.series_id)
    over = over.where(
        Series.season_id == season.id, Series.purpose == Purpose.FINALS, col(Match.state).in_(WITH_RESULT)
    )
    return at + timedelta(seconds=sum(seconds) * max(0.0, 1 - session.exec(over).one() / max(1, every)))


def left_of(session: Session, season: Season, row: Evaluation, machines: Machines) -> ForecastEvaluation:
    """Return the forecast for the rest of the evaluation in progress."""
    assert row.state is EvaluationState.RUNNING
    players = session.exec(select(func.count()).where(col(EvaluationPlayer.evaluation_id) == row.id)).one()
    open_ones = select(func.count()).where(col(Meeting.evaluation_id) == row.id, ~col(Meeting.settled))
    left = session.exec(open_ones).one()
    at_once = series_at_once(season)
    each = matches_of_each(season, row.matches)
    seconds = machines.seconds(Work(1, left * at_once, each))
    is_swiss = row.format is EvaluationFormat.SWISS
    per_round, rounds = (players // season.seats, row.rounds) if is_swiss else (comb(players, 2), 1)
    undrawn = max(0, rounds - last_round(session, row.id))  # a round robin is drawn as a whole
    seconds += machines.seconds(Work(undrawn, per_round * at_once, each))
    done_at = now(session) + timedelta(seconds=seconds)
    return ForecastEvaluation(row.name, row.due_at, row.created_at, done_at, rounds * per_round * at_once * each)
