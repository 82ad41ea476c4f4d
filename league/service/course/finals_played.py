"""Reads from a season's series what has been played in its finals, for planning the rest and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlmodel import Session, col, func, select

from deadheat.league.causes import Cause
from deadheat.league.pairing.rounds import berger, match_points, swiss_rounds
from deadheat.league.records.seasons import FinalsProgress
from deadheat.league.service.ground.counting import counts, disqualified, taking_part
from deadheat.league.states import UNFINISHED, WITH_RESULT, FinalsFormat, MatchState, Purpose
from deadheat.league.tables import Attempt, Entry, Match, Participant, Season, Series

Field = Sequence[int]
"""The finalists' versions of one division, the best seed first."""


@dataclass(frozen=True, slots=True)
class Played:
    """A series of the finals. `round`: None for one of the games after the rounds.

    `lost`: how many of its matches we failed to play. `struck`: it carries no information about its players, because we
    played none of its matches, or one of them has been disqualified since.
    """

    round: int | None
    versions: frozenset[int]
    matches: int
    lost: int
    finished: bool
    struck: bool


def fields(session: Session, season: Season) -> dict[int, list[int]]:
    """Return the remaining finalists of each division, if they are enough for a table."""
    statement = select(Entry.division, Entry.version_id).where(
        col(Entry.finals_seed).is_not(None), taking_part(season.id)
    )
    found: dict[int, list[int]] = {}
    for division, version in session.exec(statement.order_by(col(Entry.division), col(Entry.finals_seed))):
        found.setdefault(division, []).append(version)
    return {division: field for division, field in found.items() if len(field) >= season.seats}


def qualified(session: Session, season_id: int) -> Mapping[int, int]:
    """Count the bots that qualified in each division, including those that have left since."""
    seeded = select(Entry.division, func.count()).where(
        Entry.season_id == season_id, col(Entry.finals_seed).is_not(None)
    )
    return dict(session.exec(seeded.group_by(col(Entry.division))).all())


def played(session: Session, season_id: int, field: Field) -> list[Played]:
    """Return the series of the finals in which one of these versions sits. Series dropped when a bot was taken out are
    left out: they were never played, and are due again if it comes back.
    """
    dropped = select(Attempt.series_id).where(Attempt.season_id == season_id, Attempt.cause == Cause.ENTRY_ABSENT)
    chosen = (Series.season_id == season_id, Series.purpose == Purpose.FINALS, col(Series.id).not_in(dropped))
    seats = (
        select(Series, Participant.version_id, Participant.bot_id)
        .join(Match, (col(Match.series_id) == Series.id) & (col(Match.number) == 0))
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(*chosen)
        .order_by(col(Series.id))
    )
    series: dict[int, Series] = {}
    seated: dict[int, dict[int, int]] = {}
    for row, version, bot_id in session.exec(seats):
        series[row.id] = row
        seated.setdefault(row.id, {})[version] = bot_id
    states: dict[int, Counter[MatchState]] = {series_id: Counter() for series_id in series}
    matches = select(Match.series_id, Match.state, func.count()).join(Series, col(Series.id) == Match.series_id)
    for series_id, state, count in session.exec(
        matches.where(*chosen).group_by(col(Match.series_id), col(Match.state))
    ):
        states[series_id][MatchState(state)] = count
    out = set(session.exec(disqualified(season_id)))
    return [
        _view(row, seated[row.id], states[row.id], out)
        for row in series.values()
        if not seated[row.id].keys().isdisjoint(field)
    ]


def scores(session: Session, season: Season) -> dict[int, Fraction]:
    """Add up the points of the finals' rounds: a match gives one to a player that beats everyone at the table."""
    statement = (
        select(Participant.match_id, Participant.version_id, Participant.rank)
        .join(Match, col(Match.id) == Participant.match_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(*counts(season.id), Series.purpose == Purpose.FINALS, col(Series.round).is_not(None))
    )
    matches: dict[int, dict[int, int]] = {}
    for match_id, version, rank in session.exec(statement):
        assert rank is not None, "a match that counts has ranks"
        matches.setdefault(match_id, {})[version] = rank
    found: dict[int, Fraction] = {}
    for ranks in matches.values():
        for version, points in match_points(ranks, season.ranks).items():
            found[version] = found.get(version, Fraction()) + points
    return found


def extra_games(before: Sequence[Played], budget: int) -> tuple[int, int]:
    """Count the planned games after the rounds, without those that the service failed to play, and the games that may
    follow.

    Failed games do not use up the budget, up to as many again: a host that always fails must not keep finals going.
    """
    further = [series for series in before if series.round is None]
    lost = sum(series.lost for series in further)
    spent = sum(series.matches for series in further) - lost
    return spent, max(0, budget - spent - max(0, lost - budget))


def finals_progress(session: Session, season_id: int) -> list[FinalsProgress]:
    """Report the progress of each division's finals, if they have rounds; nothing before the finalists are known."""
    season = session.get_one(Season, season_id)
    if season.qualified_at is None or season.finals is FinalsFormat.STAGES:
        return []
    many = qualified(session, season.id)
    return [
        _progress(season, division, field, many[division], played(session, season.id, field))
        for division, field in fields(session, season).items()
    ]


def rounds_of(season: Season, finalists: int) -> int:
    """Return the number of rounds: of Swiss finals as chosen, or as many as halving the field down to one takes."""
    if season.finals is FinalsFormat.ROUND_ROBIN:
        return finalists - 1 + finalists % 2
    return swiss_rounds(season.finals_rounds, finalists)


def _view(row: Series, seated: Mapping[int, int], states: Counter[MatchState], out: set[int]) -> Played:
    finished = row.state not in UNFINISHED and not states[MatchState.HELD]
    return Played(
        round=row.round,
        versions=frozenset(seated),
        matches=states.total(),
        lost=states[MatchState.ABANDONED],
        finished=finished,
        struck=finished and (not any(states[state] for state in WITH_RESULT) or not out.isdisjoint(seated.values())),
    )


def _progress(season: Season, division: int, field: Field, finalists: int, before: Sequence[Played]) -> FinalsProgress:
    # A rejudged match adds a series to its round, so count tables, not series.
    begun = {(series.round, series.versions) for series in before if series.round is not None}
    open_tables = {(series.round, series.versions) for series in before if not series.finished}
    last = max((number for number, _ in begun), default=0)
    rounds = rounds_of(season, finalists)
    if season.finals is FinalsFormat.ROUND_ROBIN:
        due = {frozenset(pair) for one in berger(field) for pair in one.pairs}
        series = len(due | {versions for _, versions in begun})
    else:
        series = len(begun) + max(0, rounds - last) * (len(field) // season.seats)
    spent, left = extra_games(before, season.finals_extra_games)
    return FinalsProgress(division, len(field), last, rounds, len(begun - open_tables), series, spent, left)


def times_sat(before: Sequence[Played]) -> Counter[int]:
    """Return the number of rounds in which each version had a table that carries information about it."""
    # A rejudged match adds a series to its round, but a version sits in a round only once.
    seats = {(version, series.round) for series in before if not series.struck for version in series.versions}
    return Counter(version for version, _ in seats)
