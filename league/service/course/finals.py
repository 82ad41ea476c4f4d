"""Finals: qualification, rounds, and when they end.

Theory of operation
-------------------
`plan_finals` reads the database each time and does the next thing that can be done:

1. It waits for rated series that were running when the finals began, and for a ranking that includes them.
2. In each division the first `finals_top` of that ranking get their seeds (`Entry.finals_seed`). A bot that has not
   played has no place and does not qualify, unless all bots do; then it comes last.
3. The rounds. Round robin: every pair of finalists meets for `finals_games` matches, in the order of Berger's table,
   as many series at a time as there is room for. Swiss: a round when the one before has ended. With more than two seats
   a round seats neighbours by score at tables; players left over sit out. For stages, `league.service.course.stages`
   replaces this step and the next.
4. While neighbours in the ranking are not told apart with 95 % confidence and `finals_extra_games` are not spent,
   such neighbours play each other again, as many series at once as pairs need it; then the ranking is computed again.
5. Then the finals are over, and the season closes if `closes_when_done` and nothing in it is open
   (`league.service.course.states`).

Finalists are ranked by ratings, like everybody else (`Season.finals_log` says from which matches), and come before all
bots that did not qualify; points of rounds serve the Swiss pairing alone. A series of a round that the service fails to
play is not replaced: the ratings can handle unequal numbers of games. Extra games that the service fails to play do not
use up the budget. A bot that leaves during the finals is no longer paired. A Swiss still has all its rounds, as long as
everybody finds a new opponent; a round in which a bot had no table that counts (no opponent, an opponent disqualified
since, our failure) counts as won.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from sqlmodel import Session, select

from deadheat.league.database import now
from deadheat.league.pairing.finals import Field, due_tables, extra_games
from deadheat.league.pairing.seating import around
from deadheat.league.pairing.separation import Gap, games_to_part, share_out
from deadheat.league.service.course.finals_played import Division, divisions, scores
from deadheat.league.service.course.stages import plan_stages
from deadheat.league.service.course.states import turn_season
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import may_be_drawn
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.ground.steps import touch_log
from deadheat.league.service.series.capacity import open_series, open_series_bound
from deadheat.league.service.series.planning import Table, add_series, in_turns, series_at_once, whole_groups
from deadheat.league.states import EvaluationFormat, FinalsFormat, Purpose, SeasonState
from deadheat.league.tables import Entry, RatingSnapshot, Season

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
        made, is_over = plan_stages(session, season)
        if is_over:
            _finish(session, season)
        return made
    made, is_over = [], True
    room = open_series_bound(session) - open_series(session, season.id, Purpose.FINALS)
    for division in divisions(session, season):
        ids, done = _plan_division(session, season, division, max(room - len(made), 0))
        made += ids
        is_over = is_over and done
    if is_over:
        _finish(session, season)
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


def _plan_division(session: Session, season: Season, division: Division, room: int) -> tuple[list[int], bool]:
    """Plan a division's next series, and say whether it has played enough."""
    form, points = division.form, partial(scores, session, season)
    due = due_tables(form, season.pairing_seed or b"", division.field, division.played, points)
    if due:
        if form.format is EvaluationFormat.ROUND_ROBIN:  # a Swiss round is planned as a whole
            due = due[: -(-room // series_at_once(season))]
        return _add(session, season, [Table(versions, form.matches, round=number) for number, versions in due]), False
    if not all(series.finished for series in division.played):
        return [], False
    return _extra_games(session, season, division)


def _extra_games(session: Session, season: Season, division: Division) -> tuple[list[int], bool]:
    """Plan series between neighbours whose order is uncertain. The second value is True if there are no such
    neighbours, or no games left for them.
    """
    _, budget = extra_games(division.played, season.finals_extra_games)
    if budget <= 0:
        return [], True
    snapshot = _current_ranking(session, season)
    if snapshot is None:
        return [], False
    rows = {row["version_id"]: row for row in snapshot.standings["rows"]}
    order = [version for version in rows if version in division.field]  # as the ranking, which `gap_se` follows
    shared = share_out(_gaps(order, rows, budget), budget, season.finals_games, whole_groups(season, 1))
    made = _add(session, season, [Table(around(order, gap.above, season.seats), gap.games) for gap in shared])
    return made, not made


def _gaps(order: Field, rows: Mapping[int, Mapping[str, Any]], most_games: int) -> list[Gap]:
    """Return the neighbours that need more games, best places first. A row's `gap_se` belongs to its distance to the
    next row; it is None where a rule decides the order.
    """
    gaps = []
    for above, below in pairwise(order):
        if rows[above]["gap_se"] is None:
            continue
        difference = rows[above]["elo"] - rows[below]["elo"]
        games = games_to_part(difference, rows[above]["gap_se"] ** 2, most_games)
        if games > 0:
            gaps.append(Gap(above, below, games))
    return gaps


def _finish(session: Session, season: Season) -> None:
    season.finals_done_at = now(session)
    session.flush()
    record(session, SYSTEM, "finals-done", f"season/{season.id}")
    log.info("season %d: the finals are over", season.id)
    turn_season(session, season)


def _add(session: Session, season: Season, planned: Sequence[Table]) -> list[int]:
    return in_turns(add_series(session, season, planned, purpose=Purpose.FINALS))
