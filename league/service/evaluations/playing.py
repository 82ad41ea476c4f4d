"""Plays an evaluation: draws rounds, settles results and finalises the standings (`league.service.course.planning`).

Theory of operation
-------------------
A meeting is *settled* when all its series are over: its points are stored and never change again. Later rulings, and
decisions about held matches, do not change an evaluation, so it waits for nobody. When everything drawn is settled, the
next round is drawn from the points of all rounds (`league.pairing.tournament`). Series are planned board by board.

A match that the service failed to play is worth nothing to either side; in a stage of the finals, and in a meeting of
which a cancellation dropped a series before the evaluation was resumed, another is played in its place, up to the
planned number. A bot that an organiser took out is not drawn again; opponents that it had yet to meet win the unplayed
matches.
"""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, case, col, exists, func, select, update

from deadheat.league.causes import Cause
from deadheat.league.pairing.figures import Meeting as Met
from deadheat.league.pairing.rounds import points_taken
from deadheat.league.pairing.tournament import Form, Placed, next_rounds, standings
from deadheat.league.service.contests.life import POLICIES, Progress, add_meetings, end
from deadheat.league.service.ground.steps import set_each, set_values
from deadheat.league.service.people.notices import evaluation_done
from deadheat.league.service.series.planning import Table, series_at_once, whole_groups
from deadheat.league.states import UNFINISHED, WITH_RESULT, ContestKind, ContestState, MatchState, Ranks
from deadheat.league.tables import (
    AbsentEntry,
    Attempt,
    Contest,
    ContestPlayer,
    Match,
    Meeting,
    MeetingPlayer,
    Participant,
    Season,
    Series,
    VoidedMatch,
)

# Meetings and their points -------------------------------------------------------------------------------------------


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
    listed = []
    rows = session.connection().execute(which, chosen)
    for (meeting_id, number, board, settled), seats in groupby(rows, itemgetter(0, 1, 2, 3)):
        players, points = zip(*(seat[4:] for seat in seats), strict=True)
        listed.append(Drawn(meeting_id, number, board, players, points if settled else None))
    return listed


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
    for (meeting_id, _, state), seats in ((key, [*rows]) for key, rows in groupby(results, itemgetter(0, 1, 2))):
        missing[meeting_id] += state == MatchState.ABANDONED
        if state in WITH_RESULT:
            failed = [seat.version_id for seat in seats if seat.fault is not None]
            taken[meeting_id].append(points_taken({seat.version_id: seat.rank for seat in seats}, failed, what))
    points = {}
    for meeting in meetings:
        played = taken[meeting.id]
        left = max(0, min(missing[meeting.id], matches - len(played)))
        each = unplayed(meeting.players, gone, left, what)
        points[meeting.id] = tuple(
            its + sum(shares[player] for shares in played) for player, its in zip(meeting.players, each, strict=True)
        )
    return points


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


def unplayed(players: Sequence[int], gone: Collection[int], matches: int, what: Ranks) -> Points:
    """Give the points of unplayed matches to the players that are still there if another has left, else to nobody."""
    left = [player for player in players if player in gone]
    if not left or len(left) == len(players):
        return (0.0,) * len(players)
    points = points_taken(dict.fromkeys(players, 1), left, what)
    return tuple(matches * points[player] for player in players)


LAST = 1_000_000
"""Later than any round."""


def meetings(session: Session, evaluation_id: int, since: int = 1, until: int = LAST) -> list[Met]:
    """Return the settled meetings of the rounds from `since` to `until`, round by round."""
    listed = drawn(session, MET, contest_id=evaluation_id, since=since, until=until)
    return [Met(meeting.round, meeting.players, meeting.points or ()) for meeting in listed]


MET = with_players(
    col(Meeting.contest_id) == bindparam("contest_id"),
    col(Meeting.round).between(bindparam("since"), bindparam("until")),
    col(Meeting.settled),
)


def form_of(season: Season, row: Contest) -> Form:
    """Return the form in which an evaluation is played, with the matches of a pair in whole turns."""
    matches = whole_groups(season, row.matches)
    ties = None if row.tie_breaks is None else tuple(row.tie_breaks)
    terms = (row.rounds, matches, row.keep, row.further, row.third_place, row.rules, ties, season.seats)
    return Form(row.format, *terms)


def standings_of(session: Session, row: Contest, played: Sequence[Met] | None = None) -> list[Placed]:
    """Compute the standings after the settled meetings, the best first. `played`: those, if known."""
    form = form_of(session.get_one(Season, row.season_id), row)
    seeded, gone = players_of(session, row.id)
    return standings(form, seeded, set(seeded) - gone, meetings(session, row.id) if played is None else played)


def players_of(session: Session, evaluation_id: int) -> tuple[list[int], set[int]]:
    """Return the versions of the field, the best seed first, and those that were taken out."""
    players = select(ContestPlayer.version_id, ContestPlayer.gone_after)
    players = players.where(ContestPlayer.contest_id == evaluation_id).order_by(col(ContestPlayer.seed))
    rows = session.exec(players).all()
    return [version for version, _ in rows], {version for version, after in rows if after is not None}


def _gone(session: Session, row: Contest) -> set[int]:
    """Return the versions of bots that organisers removed from the season; a removed bot does not return to the
    evaluation. A bot that its author withdraws plays to the end: otherwise authors could choose during an evaluation
    who gets the points of unplayed matches.
    """
    taken_out = (AbsentEntry.season_id == row.season_id, AbsentEntry.reason != "")
    absent = session.exec(select(AbsentEntry.bot_id).where(*taken_out)).all()
    if absent:
        left = (col(ContestPlayer.gone_after).is_(None), col(ContestPlayer.bot_id).in_(absent))
        here = {"contest_id": row.id}
        set_values(session, ContestPlayer, *left, where=here, gone_after=last_round(session, row.id))
    return players_of(session, row.id)[1]


# Drawing ------------------------------------------------------------------------------------------------------------


def draw(session: Session, season: Season, row: Contest) -> bool:
    """Draw the next round by `league.pairing.tournament`. Return False if nothing is left."""
    seeded, gone = players_of(session, row.id)
    form = form_of(season, row)
    rounds = next_rounds(form, seeded, set(seeded) - gone, meetings(session, row.id))
    last = last_round(session, row.id)
    bye_points = float(form.matches) if row.format.rules.bye_wins else 0.0
    places = [
        (number, board, players)
        for number, (tables, byes) in enumerate(rounds, last + 1)
        for board, players in enumerate([*tables, *((bye,) for bye in byes)], 1)
    ]
    add_meetings(session, row.id, places, bye_points)
    return any(tables for tables, _ in rounds)


def last_round(session: Session, evaluation_id: int) -> int:
    """Return the number of the last round drawn; 0 if there is none."""
    last = select(func.max(Meeting.round)).where(Meeting.contest_id == evaluation_id)
    return session.exec(last).one() or 0


def has_unplanned(session: Session, evaluation_id: int) -> bool:
    """Say whether a drawn meeting has no series yet. Meetings are planned in order, so the last open one tells."""
    last = session.connection().execute(LAST_OPEN, {"contest_id": evaluation_id}).first()
    return last is not None and not last.is_planned


LAST_OPEN = (
    columns(exists().where(col(Series.meeting_id) == col(Meeting.id)).label("is_planned"))
    .where(col(Meeting.contest_id) == bindparam("contest_id"), ~col(Meeting.settled))
    .order_by(col(Meeting.round).desc(), col(Meeting.board).desc())
    .limit(1)
)


# Settling -----------------------------------------------------------------------------------------------------------


def settle(session: Session, season: Season, row: Contest, room: int) -> Progress:
    """Store the points of finished meetings. Missing matches come first, then the next meetings, within the room."""
    gone, matches = _gone(session, row), whole_groups(season, row.matches)
    begun = drawn(session, PLAYED, contest_id=row.id)
    dropped = session.exec(DROPPED, params={"ids": [meeting.id for meeting in begun]}).all() if begun else []
    replaced = [meeting for meeting in begun if row.kind is ContestKind.STAGE or meeting.id in dropped]
    short = _short(session, replaced, gone, matches) if replaced else {}
    over = [meeting for meeting in begun if meeting.id not in short]
    points = points_of(session, season.id, over, gone, matches)
    if gone:
        forfeited = [pair for pair in drawn(session, UNPLANNED, contest_id=row.id) if not gone.isdisjoint(pair.players)]
        points |= {pair.id: unplayed(pair.players, gone, matches, season.ranks) for pair in forfeited}
        over += forfeited
    taken = [
        {"meeting": meeting.id, "version": player, "its": its}
        for meeting in over
        for player, its in zip(meeting.players, points[meeting.id], strict=True)
    ]
    set_each(session, TAKEN, taken)
    set_each(session, SETTLED, [{"meeting": meeting.id} for meeting in over])
    due = [_table(row, meeting, short[meeting.id]) for meeting in begun if meeting.id in short]
    if room > 0:
        most = -(-room // series_at_once(season))
        due += (_table(row, pair, matches) for pair in drawn(session, FIRST_UNPLANNED, contest_id=row.id, most=most))
    return Progress(session.connection().execute(LAST_OPEN, {"contest_id": row.id}).first() is not None, due)


def _table(row: Contest, meeting: Drawn, matches: int) -> Table:
    precedence = POLICIES[row.kind].precedence
    return Table(meeting.players, matches, precedence, meeting.round, meeting_id=meeting.id)


OF_IT = col(Series.meeting_id) == Meeting.id
OPEN_ONES = (col(Meeting.contest_id) == bindparam("contest_id"), ~col(Meeting.settled))
NOT_PLANNED = ~exists().where(OF_IT)
UNSETTLED = with_players(*OPEN_ONES)
UNPLANNED = with_players(*OPEN_ONES, NOT_PLANNED)
PLAYED = with_players(*OPEN_ONES, exists().where(OF_IT), ~exists().where(OF_IT, col(Series.state).in_(UNFINISHED)))
"""Meetings without points: all of them, those without series, and those whose series are over."""
_FIRST = select(Meeting.id).where(*OPEN_ONES, NOT_PLANNED).order_by(col(Meeting.round), col(Meeting.board))
FIRST_UNPLANNED = with_players(col(Meeting.id).in_(_FIRST.limit(bindparam("most", type_=Integer))))


_OPEN = (col(Meeting.id) == bindparam("meeting"), ~col(Meeting.settled))
SETTLED = update(Meeting).where(*_OPEN).values(settled=True)
TAKEN = (
    update(MeetingPlayer)
    .where(col(MeetingPlayer.meeting_id) == bindparam("meeting"), col(MeetingPlayer.version_id) == bindparam("version"))
    .where(col(MeetingPlayer.points).is_(None))
    .values(points=bindparam("its"))
)


DROPPED = (
    select(Series.meeting_id)
    .join(Attempt, col(Attempt.series_id) == Series.id)
    .where(col(Series.meeting_id).in_(bindparam("ids", expanding=True)), Attempt.cause == Cause.EVALUATION_OVER)
)
"""The meetings of which a series was dropped when the evaluation was cancelled."""


def _short(session: Session, over: Sequence[Drawn], gone: Collection[int], matches: int) -> dict[int, int]:
    """Return, for meetings whose matches the service failed to play in full, the number of matches that replace the
    held or abandoned ones. A meeting has at most twice its planned matches, so no failure holds up a stage.
    """
    there = [meeting.id for meeting in over if set(gone).isdisjoint(meeting.players)]
    ended: Any = col(Match.state).in_(WITH_RESULT)
    planned = (
        select(Series.meeting_id, func.count(), func.sum(case((ended, 1), else_=0)))
        .join(Match, col(Match.series_id) == Series.id)
        .where(col(Series.meeting_id).in_(there))
        .group_by(col(Series.meeting_id))
    )
    short = {}
    for meeting_id, every, with_result in session.exec(planned):
        missing = min(matches - with_result, 2 * matches - every)
        if missing > 0 and meeting_id is not None:
            short[meeting_id] = missing
    return short


def keep_standings(session: Session) -> bool:
    """Store the figures of an evaluation that ended before figures were stored. Return False if there is none left."""
    ended = select(Contest).where(Contest.state == ContestState.DONE)
    without = exists().where(col(ContestPlayer.contest_id) == Contest.id, col(ContestPlayer.figures).is_(None))
    row = session.exec(ended.where(without).limit(1)).first()
    if row is not None:
        _keep(session, row)
    return row is not None


def _keep(session: Session, row: Contest) -> None:
    """Record everybody's place and the figures that decided it."""
    places = [{"player": place.player, "at": place.place, "by": place.figures} for place in standings_of(session, row)]
    mine = (col(ContestPlayer.contest_id) == row.id, col(ContestPlayer.version_id) == bindparam("player"))
    final = update(ContestPlayer).where(*mine).values(place=bindparam("at"), figures=bindparam("by"))
    set_each(session, final, places)


def finish(session: Session, _season: Season, row: Contest, _progress: Progress) -> None:
    """Record the final standings, and end the evaluation."""
    _keep(session, row)
    end(session, row, ContestState.DONE, "")
    evaluation_done(session, row)
