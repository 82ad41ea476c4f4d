"""Reads from a season's series what has been played in its finals, for planning the rest and for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import select as columns
from sqlmodel import Session, case, col, func, select

from deadheat.league.causes import Cause
from deadheat.league.pairing.finals import Field, Played, due_tables, extra_games
from deadheat.league.pairing.rounds import match_points
from deadheat.league.pairing.tournament import Form, rounds_in
from deadheat.league.records.seasons import FinalsProgress
from deadheat.league.service.ground.counting import counts, disqualified, taking_part
from deadheat.league.service.series.planning import whole_groups
from deadheat.league.states import UNFINISHED, WITH_RESULT, EvaluationFormat, FinalsFormat, MatchState, Purpose
from deadheat.league.tables import Attempt, Entry, Match, Participant, Season, Series


@dataclass(frozen=True, slots=True)
class Division:
    """A division's finals: the remaining finalists, and the series in which one of them sits."""

    number: int
    form: Form
    field: Field
    played: list[Played]


def divisions(session: Session, season: Season) -> list[Division]:
    """Return the divisions whose remaining finalists are enough for a table."""
    seeded = select(Entry.division, Entry.version_id, taking_part(season.id)).where(
        Entry.season_id == season.id, col(Entry.finals_seed).is_not(None)
    )
    entries = session.exec(seeded.order_by(col(Entry.division), col(Entry.finals_seed)))
    everything = _played(session, season.id)
    found = []
    for number, qualified in groupby(entries, itemgetter(0)):
        there = [(version, is_there) for _, version, is_there in qualified]
        field = [version for version, is_there in there if is_there]
        if len(field) >= season.seats:
            theirs = [series for series in everything if not series.versions.isdisjoint(field)]
            found.append(Division(number, finals_form(season, len(there)), field, theirs))
    return found


def finals_form(season: Season, finalists: int) -> Form:
    """Return the form of finals with rounds. `finalists`: how many bots qualified, including those that left."""
    format_ = EvaluationFormat(season.finals.value)
    rounds = rounds_in(format_, finalists, season.finals_rounds)
    return Form(format_, rounds, whole_groups(season, season.finals_games), seats=season.seats)


def _played(session: Session, season_id: int) -> list[Played]:
    """Return the series of the finals. Series dropped when a bot was taken out are left out: they were never played,
    and are due again if it comes back.
    """
    dropped = select(Attempt.series_id).where(Attempt.season_id == season_id, Attempt.cause == Cause.ENTRY_ABSENT)
    chosen: tuple[Any, ...] = (
        Series.season_id == season_id,
        Series.purpose == Purpose.FINALS,
        col(Series.id).not_in(dropped),
    )
    first = select(Match.series_id, Participant.version_id, Participant.bot_id).where(Match.number == 0, *chosen)
    seats = first.join(Participant, col(Participant.match_id) == Match.id)
    seated: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for series_id, version, bot_id in session.exec(seats.join(Series, col(Series.id) == Match.series_id)):
        seated[series_id][version] = bot_id

    def many(*states: MatchState) -> Any:
        return func.sum(case((col(Match.state).in_(states), 1), else_=0))

    one = (col(Series.id), col(Series.round), col(Series.state))
    states = (func.count(), many(MatchState.ABANDONED), many(MatchState.HELD), many(*WITH_RESULT))
    series = columns(*one, *states).join(Match, col(Match.series_id) == col(Series.id)).where(*chosen).group_by(*one)
    out = set(session.exec(disqualified(season_id)))
    found = []
    for series_id, number, state, matches, lost, held, counted in session.connection().execute(series):
        players = seated[series_id]
        finished = state not in UNFINISHED and not held
        struck = finished and (not counted or not out.isdisjoint(players.values()))
        found.append(Played(number, frozenset(players), matches, lost, finished, struck))
    return found


def scores(session: Session, season: Season) -> Mapping[int, Fraction]:
    """Add up the points of the finals' rounds: a match gives one to a player that beats everyone at the table."""
    statement = (
        select(Participant.match_id, Participant.version_id, Participant.rank)
        .join(Match, col(Match.id) == Participant.match_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(*counts(season.id), Series.purpose == Purpose.FINALS, col(Series.round).is_not(None))
    )
    found: defaultdict[int, Fraction] = defaultdict(Fraction)
    for _, seats in groupby(session.exec(statement.order_by(col(Participant.match_id))), itemgetter(0)):
        ranks = {version: rank or 0 for _, version, rank in seats}  # a match that counts has ranks
        for version, points in match_points(ranks, season.ranks).items():
            found[version] += points
    return found


def finals_progress(session: Session, season_id: int) -> list[FinalsProgress]:
    """Report the progress of each division's finals, if they have rounds; nothing before the finalists are known."""
    season = session.get_one(Season, season_id)
    if season.qualified_at is None or season.finals is FinalsFormat.STAGES:
        return []
    return [_progress(season, one) for one in divisions(session, season)]


def _progress(season: Season, division: Division) -> FinalsProgress:
    # A rejudged match adds a series to its round, so count tables, not series.
    begun = {(series.round, series.versions) for series in division.played if series.round is not None}
    open_tables = {(series.round, series.versions) for series in division.played if not series.finished}
    last, rounds = max((number for number, _ in begun), default=0), division.form.rounds
    if division.form.format is EvaluationFormat.ROUND_ROBIN:
        left = len(due_tables(division.form, b"", division.field, division.played, dict))
    else:
        left = max(0, rounds - last) * (len(division.field) // season.seats)
    games = extra_games(division.played, season.finals_extra_games)
    finished = len(begun - open_tables)
    return FinalsProgress(division.number, len(division.field), last, rounds, finished, len(begun) + left, *games)
