"""The points of an evaluation's pairings, by the results of their matches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists

from deadheat.league.states import WITH_RESULT, MatchState
from deadheat.league.tables import EvaluationPairing, Match, Participant, Series, VoidedMatch

Points = tuple[float, float]
"""The points of a pairing: the first player's, then the second's."""


def points_of(
    session: Session,
    pairings: Sequence[EvaluationPairing | Row[Any]],
    gone: Collection[int] = (),
    matches: int = 0,
    *,
    voided: bool = False,
) -> dict[int, Points]:
    """Return the points of each pairing so far, by its id: win 1, draw 1/2, loss and own fault 0.

    `matches`: the planned number, which limits the unplayed matches that count for a player whose opponent has left.
    `voided`: with the matches that organisers voided.
    """
    if not pairings:
        return {}
    results = session.connection().execute(
        ALL_RESULTS if voided else RESULTS, {"pairings": [pairing.id for pairing in pairings]}
    )
    ranks: dict[int, dict[int, dict[int, int]]] = {pairing.id: {} for pairing in pairings}
    missing: dict[int, set[int]] = {pairing.id: set() for pairing in pairings}
    for pairing_id, match_id, state, version, rank, fault in results:
        assert pairing_id is not None, "they are found by it"
        if state not in WITH_RESULT:
            if state == MatchState.ABANDONED:
                missing[pairing_id].add(match_id)
            continue
        assert rank is not None, "a match with a result has ranks"
        ranks[pairing_id].setdefault(match_id, {})[version] = 0 if fault is not None else rank
    found = {}
    for pairing in pairings:
        left = max(0, min(len(missing[pairing.id]), matches - len(ranks[pairing.id])))
        first, second = unplayed(pairing, gone, left)
        for placed in ranks[pairing.id].values():
            one, other = _taken(placed, pairing)
            first, second = first + one, second + other
        found[pairing.id] = (first, second)
    return found


ALL_RESULTS = (
    columns(
        col(Series.pairing_id),
        col(Match.id),
        col(Match.state),
        col(Participant.version_id),
        col(Participant.rank),
        col(Participant.fault),
    )
    .join(Match, col(Match.series_id) == col(Series.id))
    .join(Participant, col(Participant.match_id) == col(Match.id))
    .where(col(Series.pairing_id).in_(bindparam("pairings", expanding=True)))
)
RESULTS = ALL_RESULTS.where(~exists().where(col(VoidedMatch.match_id) == col(Match.id)))


def _taken(ranks: Mapping[int, int], pairing: EvaluationPairing | Row[Any]) -> Points:
    """Return the points of one match; rank 0 marks a fault."""
    assert pairing.second_id is not None, "a bye has no matches"
    one, other = ranks[pairing.first_id], ranks[pairing.second_id]
    if one == 0 or other == 0:
        return (float(one > 0), float(other > 0))
    return (0.5, 0.5) if one == other else (float(one < other), float(other < one))


def unplayed(pairing: EvaluationPairing | Row[Any], gone: Collection[int], matches: int) -> Points:
    """Give the points of unplayed matches to the player that is still there if the other has left, else to nobody."""
    left = (pairing.first_id in gone, pairing.second_id in gone)
    return (float(matches) if left == (False, True) else 0.0, float(matches) if left == (True, False) else 0.0)
