"""Playing an evaluation: its rounds are drawn, their series planned, their results settled, its standings made final.

Theory of operation
-------------------
`plan_evaluation` looks at the database anew each time and does what can be done next. The season is locked meanwhile,
and every step is a row that exists or does not, so two schedulers, or one that dies between two steps, do nothing
twice:

1. A pairing of which all series are over is *settled*: its points are written down and never change again. What an
   organiser rules later, or decides about a match that is held, does not change an evaluation, which therefore waits
   for nobody.
2. When a Swiss round is settled, the next is drawn from the points of all rounds (`league.pairing.contest`). A round
   robin is drawn as a whole.
3. Series of drawn pairings are planned while there is room, board by board. Evaluations have room of their own beside
   the ladder and are played before it (`league.service.series.turns`).
4. When the last round is settled, everybody has a place.

A match that the service failed to play is worth nothing to either side. A bot that an organiser took out is drawn no
more; who should still have met it wins what was not played.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, func, select

from deadheat.league.pairing.contest import Meeting, Placed, draw, round_robin_standings, swiss_standings
from deadheat.league.pairing.rounds import berger
from deadheat.league.service.evaluations.beginning import begin_due, end_evaluation, running_evaluation
from deadheat.league.service.ground.audit import SYSTEM
from deadheat.league.service.ground.steps import insert_rows, set_values
from deadheat.league.service.people.notices import evaluation_done
from deadheat.league.service.series.capacity import open_series_bound
from deadheat.league.service.series.planning import add_series, in_turns, series_at_once, whole_groups
from deadheat.league.states import (
    OF_EVALUATIONS,
    UNFINISHED,
    WITH_RESULT,
    EvaluationFormat,
    EvaluationState,
    MatchState,
    Precedence,
    Purpose,
)
from deadheat.league.tables import (
    AbsentEntry,
    Evaluation,
    EvaluationPairing,
    EvaluationPlayer,
    Match,
    Participant,
    Season,
    Series,
    VoidedMatch,
)

Points = tuple[float, float]
"""Of the two of a pairing, the first's before the second's."""


def plan_evaluation(session: Session, season: Season) -> list[int]:
    """Do what can be done next, and return the new series, to be enqueued. The caller has locked the season."""
    row = running_evaluation(session, season.id) or begin_due(session, season)
    if row is None or row.state is not EvaluationState.RUNNING:
        return []
    gone = _gone(session, row)
    _settle(session, season, row, gone)
    if _unsettled(session, row) == 0:
        if not _draw(session, season, row, gone):
            _finish(session, row)
            return []
        _settle(session, season, row, gone)  # a pairing of a round robin with a bot that has left since
    return _add_series(session, season, row)


def open_of_evaluation(session: Session, season_id: int) -> int:
    """How many series of the season's evaluations wait or run."""
    found = select(func.count()).select_from(Series)
    found = found.where(Series.season_id == season_id, col(Series.state).in_(UNFINISHED))
    return session.exec(found.where(col(Series.purpose).in_(OF_EVALUATIONS))).one()


def meetings(session: Session, evaluation_id: int) -> list[Meeting]:
    """What is settled, round by round."""
    settled = (
        columns(
            col(EvaluationPairing.round),
            col(EvaluationPairing.first_id),
            col(EvaluationPairing.second_id),
            col(EvaluationPairing.first_points),
            col(EvaluationPairing.second_points),
        )
        .where(col(EvaluationPairing.evaluation_id) == evaluation_id, col(EvaluationPairing.first_points).is_not(None))
        .order_by(col(EvaluationPairing.round), col(EvaluationPairing.board))
    )
    found = session.connection().execute(settled)
    return [Meeting(number, first, second, one or 0.0, other or 0.0) for number, first, second, one, other in found]


def standings_of(session: Session, row: Evaluation) -> list[Placed]:
    """After what is settled by now, the best first."""
    seeded = _seeded(session, row.id)
    place = swiss_standings if row.format is EvaluationFormat.SWISS else round_robin_standings
    return place(seeded, meetings(session, row.id))


def _seeded(session: Session, evaluation_id: int) -> list[int]:
    players = select(EvaluationPlayer.version_id).where(EvaluationPlayer.evaluation_id == evaluation_id)
    return list(session.exec(players.order_by(col(EvaluationPlayer.seed))))


def _gone(session: Session, row: Evaluation) -> set[int]:
    """Versions of bots that organisers took out of the season. One whose author withdraws it is played to the end:
    nobody may choose in the middle of an evaluation whom unplayed matches are given to.
    """
    absent = select(AbsentEntry.bot_id).where(AbsentEntry.season_id == row.season_id, AbsentEntry.reason != "")
    players = select(EvaluationPlayer.version_id).where(EvaluationPlayer.evaluation_id == row.id)
    return set(session.exec(players.where(col(EvaluationPlayer.bot_id).in_(absent))))


def _unsettled(session: Session, row: Evaluation) -> int:
    open_pairings = select(func.count()).select_from(EvaluationPairing)
    open_pairings = open_pairings.where(EvaluationPairing.evaluation_id == row.id)
    return session.exec(open_pairings.where(col(EvaluationPairing.first_points).is_(None))).one()


# Drawing ------------------------------------------------------------------------------------------------------------


def _draw(session: Session, season: Season, row: Evaluation, gone: Collection[int]) -> bool:
    """The next round of a Swiss, all of a round robin; False: nothing is left to be drawn."""
    drawn = select(func.max(EvaluationPairing.round)).where(EvaluationPairing.evaluation_id == row.id)
    last = session.exec(drawn).one() or 0
    seeded = _seeded(session, row.id)
    if row.format is EvaluationFormat.ROUND_ROBIN:
        rounds = berger(seeded) if last == 0 else []
        drawn_rounds = [(number, list(one.pairs), one.bye) for number, one in enumerate(rounds, 1)]
        bye_points = 0.0  # everybody sits out equally often
    else:
        present = set(seeded) - set(gone)
        if last >= row.rounds or len(present) < 2:
            return False
        drawn_rounds = [(last + 1, *draw(seeded, present, meetings(session, row.id)))]
        bye_points = float(whole_groups(season.game, season.seats, row.matches))
    pairings = [
        {**_pairing(row.id, number, board), "first_id": first, "second_id": second}
        for number, pairs, _ in drawn_rounds
        for board, (first, second) in enumerate(pairs, 1)
    ]
    byes = [
        {**_pairing(row.id, number, len(pairs) + 1), "first_id": bye, "first_points": bye_points, "second_points": 0.0}
        for number, pairs, bye in drawn_rounds
        if bye is not None
    ]
    insert_rows(session, EvaluationPairing, pairings)
    insert_rows(session, EvaluationPairing, byes)
    return bool(pairings)


def _pairing(evaluation_id: int, number: int, board: int) -> dict[str, int]:
    return {"evaluation_id": evaluation_id, "round": number, "board": board}


def _add_series(session: Session, season: Season, row: Evaluation) -> list[int]:
    """Series of pairings that have none yet, as many as there is room for."""
    room = open_series_bound(session) - open_of_evaluation(session, season.id)
    if room <= 0:
        return []
    waiting = (
        select(EvaluationPairing)
        .where(EvaluationPairing.evaluation_id == row.id, col(EvaluationPairing.first_points).is_(None))
        .where(~exists().where(col(Series.pairing_id) == EvaluationPairing.id))
        .order_by(col(EvaluationPairing.round), col(EvaluationPairing.board))
        .limit(-(-room // series_at_once(season)))
    )
    purpose = Purpose.RATED_EVALUATION if row.rated else Purpose.EVALUATION
    matches = whole_groups(season.game, season.seats, row.matches)
    made = []
    for pairing in session.exec(waiting).all():
        assert pairing.second_id is not None, "a bye is settled when it is drawn"
        made.append(
            add_series(
                session,
                season,
                (pairing.first_id, pairing.second_id),
                matches,
                purpose=purpose,
                precedence=Precedence.EVALUATION,
                round_number=pairing.round,
                pairing_id=pairing.id,
            )
        )
    return in_turns(session, made)


# Settling -----------------------------------------------------------------------------------------------------------


def _settle(session: Session, season: Season, row: Evaluation, gone: Collection[int]) -> None:
    """Write down the points of pairings that are over."""
    of_it = col(Series.pairing_id) == EvaluationPairing.id
    unsettled = select(EvaluationPairing).where(
        EvaluationPairing.evaluation_id == row.id,
        col(EvaluationPairing.first_points).is_(None),
        ~exists().where(of_it, col(Series.state).in_(UNFINISHED)),
    )
    begun = session.exec(unsettled.where(exists().where(of_it))).all()
    settled = points_of(session, begun, gone)
    forfeited = session.exec(
        unsettled.where(~exists().where(of_it)).where(
            col(EvaluationPairing.first_id).in_(gone) | col(EvaluationPairing.second_id).in_(gone)
        )
    ).all()
    matches = whole_groups(season.game, season.seats, row.matches)
    settled |= {pairing.id: _unplayed(pairing, gone, matches) for pairing in forfeited}
    for pairing_id, (first, second) in settled.items():
        mine = (col(EvaluationPairing.id) == pairing_id, col(EvaluationPairing.first_points).is_(None))
        set_values(session, EvaluationPairing, *mine, first_points=first, second_points=second)


def points_of(session: Session, pairings: Sequence[EvaluationPairing], gone: Collection[int] = ()) -> dict[int, Points]:
    """What the two of each pairing have by now: win 1, draw 1/2, loss and own failure 0; by the pairing's id."""
    voided = select(VoidedMatch.match_id).where(col(VoidedMatch.match_id) == Match.id)
    statement = (
        columns(
            col(EvaluationPairing.id),
            col(Match.id),
            col(Match.state),
            col(Participant.version_id),
            col(Participant.rank),
            col(Participant.fault),
        )
        .join(Series, col(Series.pairing_id) == col(EvaluationPairing.id))
        .join(Match, col(Match.series_id) == col(Series.id))
        .join(Participant, col(Participant.match_id) == col(Match.id))
        .where(col(EvaluationPairing.id).in_([pairing.id for pairing in pairings]), ~voided.exists())
    )
    ranks: dict[int, dict[int, dict[int, int]]] = {pairing.id: {} for pairing in pairings}
    unplayed: dict[int, set[int]] = {pairing.id: set() for pairing in pairings}
    for pairing_id, match_id, state, version, rank, fault in session.connection().execute(statement):
        if state not in WITH_RESULT:
            if state == MatchState.ABANDONED:
                unplayed[pairing_id].add(match_id)
            continue
        assert rank is not None, "a match with a result has ranks"
        ranks[pairing_id].setdefault(match_id, {})[version] = 0 if fault is not None else rank
    found = {}
    for pairing in pairings:
        first, second = _unplayed(pairing, gone, len(unplayed[pairing.id]))
        for placed in ranks[pairing.id].values():
            one, other = _taken(placed, pairing)
            first, second = first + one, second + other
        found[pairing.id] = (first, second)
    return found


def _taken(ranks: Mapping[int, int], pairing: EvaluationPairing) -> Points:
    """From one match; a rank of 0 stands for an own failure."""
    assert pairing.second_id is not None, "a bye has no matches"
    one, other = ranks[pairing.first_id], ranks[pairing.second_id]
    if one == 0 or other == 0:
        return (float(one > 0), float(other > 0))
    return (0.5, 0.5) if one == other else (float(one < other), float(other < one))


def _unplayed(pairing: EvaluationPairing, gone: Collection[int], matches: int) -> Points:
    """From matches that are not played: to whoever is still there if the other one has left, else to nobody."""
    left = (pairing.first_id in gone, pairing.second_id in gone)
    return (float(matches) if left == (False, True) else 0.0, float(matches) if left == (True, False) else 0.0)


def _finish(session: Session, row: Evaluation) -> None:
    """Everybody has a place, and it is over."""
    for one in standings_of(session, row):
        mine = (col(EvaluationPlayer.evaluation_id) == row.id, col(EvaluationPlayer.version_id) == one.player)
        set_values(session, EvaluationPlayer, *mine, place=one.place)
    end_evaluation(session, row, EvaluationState.DONE, "", SYSTEM)
    evaluation_done(session, row)
