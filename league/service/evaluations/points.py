"""The meetings of an evaluation as they are stored, and their points, by the results of their matches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists

from deadheat.league.pairing.rounds import points_taken
from deadheat.league.states import WITH_RESULT, MatchState, Ranks
from deadheat.league.tables import Match, Meeting, MeetingPlayer, Participant, Season, Series, VoidedMatch

Points = tuple[float, ...]
"""The points of a meeting, in the order of its players."""


class Drawn(NamedTuple):
    """A drawn meeting. `points`: None until it is settled."""

    id: int
    round: int
    board: int
    players: tuple[int, ...]
    points: Points | None


def drawn(session: Session, which: Any, **chosen: Any) -> list[Drawn]:
    """Return meetings by rounds and boards. `which`: a statement of `with_players`, with the parameters `chosen`."""
    session.flush()
    found = []
    for (meeting_id, number, board, settled), rows in groupby(session.connection().execute(which, chosen), _PLACE):
        players, points = zip(*((row.version_id, row.points) for row in rows), strict=True)
        found.append(Drawn(meeting_id, number, board, players, points if settled else None))
    return found


_PLACE = attrgetter("id", "round", "board", "settled")


def with_players(*which: Any) -> Any:
    """Return the statement for the meetings that meet these conditions, with a row for each player."""
    return (
        columns(
            *(col(Meeting.id), col(Meeting.round), col(Meeting.board), col(Meeting.settled)),
            *(col(MeetingPlayer.version_id), col(MeetingPlayer.points)),
        )
        .join(MeetingPlayer, col(MeetingPlayer.meeting_id) == col(Meeting.id))
        .where(*which)
        .order_by(col(Meeting.round), col(Meeting.board), col(Meeting.id), col(MeetingPlayer.seat))
    )


def points_of(
    session: Session,
    season_id: int,
    meetings: Sequence[Drawn],
    gone: Collection[int] = (),
    matches: int = 0,
    *,
    voided: bool = False,
) -> dict[int, Points]:
    """Return the points of each meeting so far, by its id: win 1, draw 1/2, loss and own fault 0; at tables of more
    than two the share of the win (`league.pairing.rounds.match_points`).

    `matches`: the planned number, which limits the unplayed matches that count for players whose opponent has left.
    `voided`: with the matches that organisers voided.
    """
    if not meetings:
        return {}
    what = session.get_one(Season, season_id).ranks
    results = session.connection().execute(
        ALL_RESULTS if voided else RESULTS, {"meetings": [meeting.id for meeting in meetings]}
    )
    taken: dict[int, list[dict[int, float]]] = {meeting.id: [] for meeting in meetings}
    missing = dict.fromkeys(taken, 0)
    for (meeting_id, _, state), seats in ((key, [*rows]) for key, rows in groupby(results, _MATCH)):
        missing[meeting_id] += state == MatchState.ABANDONED
        if state in WITH_RESULT:
            failed = [one.version_id for one in seats if one.fault is not None]
            taken[meeting_id].append(points_taken({one.version_id: one.rank for one in seats}, failed, what))
    found = {}
    for meeting in meetings:
        played = taken[meeting.id]
        left = max(0, min(missing[meeting.id], matches - len(played)))
        each = unplayed(meeting.players, gone, left, what)
        found[meeting.id] = tuple(
            its + sum(one[player] for one in played) for player, its in zip(meeting.players, each, strict=True)
        )
    return found


ALL_RESULTS = (
    columns(
        col(Series.meeting_id),
        col(Match.id),
        col(Match.state),
        col(Participant.version_id),
        col(Participant.rank),
        col(Participant.fault),
    )
    .join(Match, col(Match.series_id) == col(Series.id))
    .join(Participant, col(Participant.match_id) == col(Match.id))
    .where(col(Series.meeting_id).in_(bindparam("meetings", expanding=True)))
    .order_by(col(Match.id))
)
RESULTS = ALL_RESULTS.where(~exists().where(col(VoidedMatch.match_id) == col(Match.id)))
_MATCH = attrgetter("meeting_id", "id", "state")


def unplayed(players: Sequence[int], gone: Collection[int], matches: int, what: Ranks) -> Points:
    """Give the points of unplayed matches to the players that are still there if another has left, else to nobody."""
    left = [player for player in players if player in gone]
    if not left or len(left) == len(players):
        return (0.0,) * len(players)
    points = points_taken(dict.fromkeys(players, 1), left, what)
    return tuple(matches * points[player] for player in players)
