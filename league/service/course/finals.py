"""Finals: qualification, rounds, and when they end.

Theory of operation
-------------------
`plan_finals` reads the database each time and does the next thing that can be done:

1. It waits for rated series that were running when the finals began, and for a ranking that includes them.
2. In each division the first `finals_top` of that ranking get their seeds (`Entry.finals_seed`). A bot that has not
   played has no place and does not qualify, unless all bots do; then it comes last.
3. The rounds. Round robin: every pair of finalists meets for `finals_games` matches, in the order of Berger's table,
   as many series at a time as there is room for. Swiss: a round when the one before has ended. With more than two seats
   a round seats neighbours by score at tables; players left over sit out. Stages are contests
   (`league.service.course.planning`) and replace this step and the next.
4. While neighbours in the ranking are not told apart with 95 % confidence and `finals_extra_games` are not spent,
   such neighbours play each other again, as many series at once as pairs need it; then the ranking is computed again.
5. Then the finals are over, and the season closes if `closes_when_done` and nothing in it is open
   (`league.service.course.states`).

Finalists are ranked by ratings, like everybody else (`Season.finals_log` says from which matches), and come before all
bots that did not qualify; points of rounds serve the Swiss pairing alone (`league.pairing.finals`). A series of a round
that the service fails to play is not replaced: the ratings can handle unequal numbers of games. A bot that leaves
during the finals is no longer paired.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from sqlalchemy import select as columns
from sqlmodel import Session, case, col, func, select

from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.pairing.finals import Field, Gap, Played, due_tables, extra_games, games_to_part, share_out
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.rounds import match_points
from deadheat.league.pairing.seating import around
from deadheat.league.pairing.tournament import Form
from deadheat.league.records.seasons import FinalsProgress
from deadheat.league.service.contests.life import running
from deadheat.league.service.course.planning import plan
from deadheat.league.service.course.states import turn_season
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import counts, disqualified, may_be_drawn, taking_part
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.ground.steps import touch_log
from deadheat.league.service.series.capacity import open_series, open_series_bound
from deadheat.league.service.series.planning import Table, add_series, in_turns, series_at_once, whole_groups
from deadheat.league.states import UNFINISHED, WITH_RESULT, ContestKind, FinalsFormat, MatchState, Purpose, SeasonState
from deadheat.league.tables import Attempt, Entry, Match, Participant, RatingSnapshot, Season, Series

log = logging.getLogger(__name__)


def plan_finals(session: Session, season: Season) -> list[int]:
    """Do what can be done next in a season's finals, and return the new series. The caller has locked the season."""
    assert season.state is SeasonState.FINALS
    if season.finals_done_at is not None:
        return []
    on_ladder = (Purpose.LADDER, Purpose.RATED_EVALUATION)
    if season.qualified_at is None and (open_series(session, season.id, *on_ladder) or not _qualify(session, season)):
        return []
    if season.finals is FinalsFormat.STAGES:
        made = plan(session, season, ContestKind.STAGE)
        is_over = not running(session, season.id, ContestKind.STAGE)
    else:
        made, is_over = [], True
        room = open_series_bound(session) - open_series(session, season.id, Purpose.FINALS)
        for division in divisions(session, season):
            ids, done = _plan_division(session, season, division, max(room - len(made), 0))
            made += ids
            is_over = is_over and done
    if is_over:
        season.finals_done_at = now(session)
        session.flush()
        record(session, SYSTEM, "finals-done", f"season/{season.id}")
        log.info("season %d: the finals are over", season.id)
        turn_season(session, season)
    return made


# Qualifying ---------------------------------------------------------------------------------------------------------


def _qualify(session: Session, season: Season) -> bool:
    """Choose the finalists by a ranking that includes all of the ladder. Return False if there is none yet."""
    snapshot = _current_ranking(session, season)
    if snapshot is None:
        return False
    entries = {entry.version_id: entry for entry in session.exec(select(Entry).where(may_be_drawn(season.id)))}
    chosen: dict[int, list[int]] = {}
    for row in snapshot.standings["rows"]:  # each division's best bots come first
        entry = entries.get(row["version_id"])
        if entry is None or (season.finals_top is not None and row["rank"] is None):
            continue
        seeded = chosen.setdefault(entry.division, [])
        if season.finals_top is None or len(seeded) < season.finals_top:
            seeded.append(entry.bot_id)
            entry.finals_seed = len(seeded)
    season.qualified_at = now(session)
    session.flush()
    data = {"ranking": snapshot.id, "divisions": {str(number): bots for number, bots in sorted(chosen.items())}}
    record(session, SYSTEM, "finalists", f"season/{season.id}", data)
    touch_log(session, season.id)
    return True


def _current_ranking(session: Session, season: Season) -> RatingSnapshot | None:
    """Return the newest ranking, or None if the log has changed since."""
    serials = session.exec(select(Season.log_serial, Season.rated_serial).where(Season.id == season.id)).one()
    return newest_ranking(session, season.id) if serials[0] == serials[1] else None


# Playing ------------------------------------------------------------------------------------------------------------


def _plan_division(session: Session, season: Season, division: "Division", room: int) -> tuple[list[int], bool]:
    """Plan a division's next series, and say whether it has played enough."""
    form, points = division.form, partial(_scores, session, season)
    due = due_tables(form, season.pairing_seed or b"", division.field, division.played, points)
    if due:
        if form.format is EvaluationFormat.ROUND_ROBIN:  # a Swiss round is planned as a whole
            due = due[: -(-room // series_at_once(season))]
        return _add(session, season, [Table(versions, form.matches, round=number) for number, versions in due]), False
    if not all(series.finished for series in division.played):
        return [], False
    return _extra_games(session, season, division)


def _extra_games(session: Session, season: Season, division: "Division") -> tuple[list[int], bool]:
    """Plan series between neighbours whose order is uncertain; also say whether there are none, or no games left."""
    _, budget = extra_games(division.played, season.finals_extra_games)
    if budget <= 0:
        return [], True
    snapshot = _current_ranking(session, season)
    if snapshot is None:
        return [], False
    rows = {row["version_id"]: row for row in snapshot.standings["rows"]}
    order = [version for version in rows if version in division.field]  # as the ranking, which `gap_se` follows
    gaps = [
        Gap(above, below, games)
        for above, below in pairwise(order)
        if (error := rows[above]["gap_se"]) is not None  # a rule decides the order
        and (games := games_to_part(rows[above]["elo"] - rows[below]["elo"], error**2, budget)) > 0
    ]
    shared = share_out(gaps, budget, season.finals_games, whole_groups(season, 1))
    made = _add(session, season, [Table(around(order, gap.above, season.seats), gap.games) for gap in shared])
    return made, not made


def _add(session: Session, season: Season, planned: Sequence[Table]) -> list[int]:
    return in_turns(add_series(session, season, planned, purpose=Purpose.FINALS))


# What was played ----------------------------------------------------------------------------------------------------


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
    entries = session.exec(seeded.order_by(col(Entry.division), col(Entry.finals_seed))).all()
    everything = _played(session, season.id)
    listed = []
    for number, qualified in groupby(entries, itemgetter(0)):
        there = [(version, is_there) for _, version, is_there in qualified]
        field = [version for version, is_there in there if is_there]
        if len(field) >= season.seats:
            theirs = [series for series in everything if not series.versions.isdisjoint(field)]
            listed.append(Division(number, finals_form(season, len(there)), field, theirs))
    return listed


def finals_form(season: Season, finalists: int) -> Form:
    """Return the form of finals with rounds. `finalists`: how many bots qualified, including those that left."""
    format_ = EvaluationFormat(season.finals.value)
    rounds = format_.rules.rounds_in(finalists, season.finals_rounds, 2)
    return Form(format_, rounds, whole_groups(season, season.finals_games), seats=season.seats)


def _played(session: Session, season_id: int) -> list[Played]:
    """Return the series of the finals, without those dropped because a bot was taken out: they are due again."""
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

    keys = (col(Series.id), col(Series.round), col(Series.state))
    states = (func.count(), many(MatchState.ABANDONED), many(MatchState.HELD), many(*WITH_RESULT))
    series = columns(*keys, *states).join(Match, col(Match.series_id) == col(Series.id)).where(*chosen).group_by(*keys)
    out = set(session.exec(disqualified(season_id)))
    results = []
    for series_id, number, state, matches, lost, waiting, counted in session.connection().execute(series):
        players = seated[series_id]
        finished = state not in UNFINISHED and not waiting
        struck = finished and (not counted or not out.isdisjoint(players.values()))
        results.append(Played(number, frozenset(players), matches, lost, finished, struck))
    return results


def _scores(session: Session, season: Season) -> Mapping[int, Fraction]:
    """Add up the points of the finals' rounds: a match gives one to a player that beats everyone at the table."""
    statement: Any = (
        columns(col(Participant.match_id), col(Participant.version_id), col(Participant.rank))
        .join(Match, col(Match.id) == col(Participant.match_id))
        .join(Series, col(Series.id) == col(Match.series_id))
        .where(*counts(season.id), col(Series.purpose) == Purpose.FINALS, col(Series.round).is_not(None))
        .order_by(col(Participant.match_id))
    )
    totals: defaultdict[int, Fraction] = defaultdict(Fraction)
    for _, seats in groupby(session.connection().execute(statement), itemgetter(0)):
        for version, points in match_points({version: rank for _, version, rank in seats}, season.ranks).items():
            totals[version] += points
    return totals


# What people read ---------------------------------------------------------------------------------------------------


def finals_progress(session: Session, season_id: int) -> list[FinalsProgress]:
    """Report the progress of each division's finals, if they have rounds; nothing before the finalists are known."""
    season = session.get_one(Season, season_id)
    if season.qualified_at is None or season.finals is FinalsFormat.STAGES:
        return []
    progress = []
    for division in divisions(session, season):
        played, field, rounds = division.played, division.field, division.form.rounds
        # A rejudged match adds a series to its round, so count tables, not series.
        begun = {(series.round, series.versions) for series in played if series.round is not None}
        finished = len(begun - {(series.round, series.versions) for series in played if not series.finished})
        last = max((number for number, _ in begun), default=0)
        if division.form.format is EvaluationFormat.ROUND_ROBIN:
            left = len(due_tables(division.form, b"", field, played, dict))
        else:
            left = max(0, rounds - last) * (len(field) // season.seats)
        extra = extra_games(played, season.finals_extra_games)
        of_all = (last, rounds, finished, len(begun) + left)
        progress.append(FinalsProgress(division.number, len(field), *of_all, *extra))
    return progress
