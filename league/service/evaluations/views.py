"""Evaluations, in the form in which people read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, func, select

from deadheat.league.database import now
from deadheat.league.pairing.formats import USUAL, EvaluationFormat
from deadheat.league.pairing.notation import Stage, stages
from deadheat.league.pairing.tournament import Placed, Tie
from deadheat.league.records import evaluations as records
from deadheat.league.records import from_row
from deadheat.league.service.contests.life import matches_of
from deadheat.league.service.evaluations.beginning import due, existing_evaluation
from deadheat.league.service.evaluations.playing import (
    UNSETTLED,
    Drawn,
    drawn,
    form_of,
    meetings,
    players_of,
    points_of,
    standings_of,
    with_players,
)
from deadheat.league.service.ground import lookups
from deadheat.league.service.ground.steps import existing
from deadheat.league.states import EVALUATIONS, HOLDING, ON_LADDER, ContestKind, ContestState, EvaluationState
from deadheat.league.tables import Bot, BotVersion, Contest, ContestPlayer, Meeting, MeetingPlayer, Season, Team, User
from deadheat.league.timetable import timetable

NAMED = 10
"""The number of versions named among those that advanced from a stage."""


def stages_of(session: Session, season_id: int) -> list[records.StageProgress]:
    """Return the stages of a season's finals, in their order."""
    declared = stages(session.get_one(Season, season_id).stages)
    if not declared:
        return []
    begun = select(Contest).where(Contest.season_id == season_id, Contest.kind == ContestKind.STAGE)
    rows = {row.stage: row for row in session.exec(begun)}
    return [
        _progress(session, number, stage, rows.get(number), rows.get(number + 1))
        for number, stage in enumerate(declared, 1)
    ]


def _progress(
    session: Session, number: int, stage: Stage, row: Contest | None, following: Contest | None
) -> records.StageProgress:
    if row is None:
        return records.StageProgress(number, stage.words, None, None, None, 0, [])
    players = select(func.count()).select_from(ContestPlayer)
    many = session.exec(players.where(ContestPlayer.contest_id == row.id)).one()
    there = select(ContestPlayer.version_id)
    if following is not None:
        there = there.where(ContestPlayer.contest_id == following.id).order_by(col(ContestPlayer.seed))
    else:
        there = there.where(ContestPlayer.contest_id == row.id, col(ContestPlayer.gone_after).is_(None))
        there = there.order_by(col(ContestPlayer.place)).limit(row.keep or 1)
    going_on = list(session.exec(there)) if row.state is ContestState.DONE else []
    seats = seats_of(session, row.id) if going_on else {}
    first = [seats[version].seat for version in going_on[:NAMED]]
    return records.StageProgress(number, stage.words, row.id, EvaluationState(row.state), many, len(going_on), first)


def bracket_of(session: Session, row: Contest) -> list[records.BracketTie]:
    """Return a knockout's bracket, with the points of unsettled ties too; for other formats, nothing."""
    if not row.format.rules.has_winner:
        return []
    seeded, _ = players_of(session, row.id)
    seats = {version: one.seat for version, one in seats_of(session, row.id).items()}
    form = form_of(session.get_one(Season, row.season_id), row)
    unsettled = drawn(session, UNSETTLED, contest_id=row.id)
    so_far = points_of(session, row.season_id, unsettled)
    in_play: dict[frozenset[int | None], Mapping[int | None, float]] = {
        frozenset(one.players): dict(zip(one.players, so_far[one.id], strict=True)) for one in unsettled
    }
    ties = row.format.rules.ties(form, seeded, meetings(session, row.id))
    return [_tie(tie, seats, in_play.get(frozenset(tie.players), {})) for tie in ties]


def _tie(
    tie: Tie, seats: Mapping[int, records.EvaluationSeat], in_play: Mapping[int | None, float]
) -> records.BracketTie:
    """Return a tie; if it is not decided, with the points so far of its meeting that is played."""
    points = dict(zip(tie.players, tie.points, strict=True))
    for player, taken in in_play.items() if tie.advancing is None else ():
        points[player] += taken
    there = [player for player in tie.players if player is not None]
    both: list[int | None] = [*tie.players, None, None]
    first, second = both[:2]
    return records.BracketTie(
        round=tie.round,
        slot=tie.slot,
        first=None if first is None else seats[first],
        second=None if second is None else seats[second],
        first_points=0.0 if first is None else points[first],
        second_points=0.0 if second is None else points[second],
        is_bye=tie.is_bye,
        winner=tie.winner,
        seats=[seats[player] for player in there],
        points=[points[player] for player in there],
        advancing=[*(tie.advancing or ())],
    )


class Seated(NamedTuple):
    """A version of the field, its author, and whether organisers took it out."""

    seat: records.EvaluationSeat
    author: str
    gone: bool


def seats_of(session: Session, evaluation_id: int, versions: Collection[int] | None = None) -> dict[int, Seated]:
    """Return each version of the field, or only these."""
    seats = SEATS if versions is None else SEATS_AMONG
    found = session.connection().execute(seats, {"evaluation": evaluation_id, "versions": list(versions or ())})
    return {
        version_id: Seated(records.EvaluationSeat(bot_id, bot, number, version_id), author, gone_after is not None)
        for version_id, bot_id, bot, number, author, gone_after in found
    }


SEATS = (
    columns(
        col(ContestPlayer.version_id),
        col(Bot.id),
        col(Bot.name),
        col(BotVersion.number),
        col(User.name),
        col(ContestPlayer.gone_after),
    )
    .join(BotVersion, col(BotVersion.id) == col(ContestPlayer.version_id))
    .join(Bot, col(Bot.id) == col(ContestPlayer.bot_id))
    .join(User, col(User.id) == col(Bot.owner_id))
    .where(col(ContestPlayer.contest_id) == bindparam("evaluation"))
)
SEATS_AMONG = SEATS.where(col(ContestPlayer.version_id).in_(bindparam("versions", expanding=True)))


TOP = 10
"""How many bots' courses are shown together."""

NO_FIGURES: dict[str, Any] = {figure.name: None for found in USUAL.values() for figure in found}
"""No tie-break figures, in any format."""

COURSE = 100
"""The number of evaluations that a course covers."""


def evaluations(
    session: Session, season_id: int, *, before: int | None = None, limit: int = 50
) -> list[records.Evaluation]:
    """Return the season's evaluations, the newest first; `before`: only those with a lower number. Raises NotFound."""
    existing(session, Season, season_id)
    statement = NEWEST if before is None else NEWEST.where(Contest.number < before)
    rows = session.exec(statement, params={"season": season_id, "most": limit})
    return [from_row(records.Evaluation, row, state=EvaluationState(row.state)) for row in rows]


_PLAYERS = select(func.count()).where(col(ContestPlayer.contest_id) == col(Contest.id))
_ROUND = select(func.coalesce(func.max(Meeting.round), 0)).where(col(Meeting.contest_id) == col(Contest.id))
TOLD: Any = columns(
    *Contest.__table__.c,  # type: ignore[attr-defined]
    col(Season.name).label("season"),
    col(Season.game),
    col(Season.seats),
    _PLAYERS.scalar_subquery().label("players"),
    _ROUND.scalar_subquery().label("round"),
).join_from(Contest, Season, col(Season.id) == col(Contest.season_id))
NEWEST = (
    TOLD.where(col(Contest.season_id) == bindparam("season"), col(Contest.kind).in_(EVALUATIONS))
    .order_by(col(Contest.number).desc())
    .limit(bindparam("most", type_=Integer))
)
THIS = TOLD.where(col(Contest.id) == bindparam("evaluation"))


def coming(session: Session, season_id: int) -> list[tuple[str, datetime]]:
    """Return each line of the timetable that has a next time, as a sentence with that time, the soonest first."""
    season = existing(session, Season, season_id)
    if season.state not in (*HOLDING, *ON_LADDER):
        return []
    lines = ((one.words, one.next_due(now(session))) for one in timetable(season.evaluations))
    return sorted(((words, at) for words, at in lines if at is not None), key=lambda line: line[1])


def overdue(session: Session, season_id: int) -> datetime | None:
    """Return the time at which an evaluation that has not begun was due; None if none is due."""
    season = existing(session, Season, season_id)
    found = due(session, season) if season.state in ON_LADDER else None
    return None if found is None else found[0]


def courses(session: Session, season_id: int, bot_ids: Collection[int] | None = None) -> list[records.Course]:
    """Return the places of these bots, or of the first `TOP`, in the newest `COURSE` completed evaluations of a season,
    the best first. Empty if fewer than two are completed.
    """
    rows = session.exec(DONE, params={"season": season_id}).all()
    if len(rows) < 2:
        return []
    newest = [row.id for row in rows]
    bot_ids = _first(session, rows) if bot_ids is None else bot_ids
    statement = (
        columns(col(ContestPlayer.bot_id), col(Bot.name), col(Contest.number), col(ContestPlayer.place))
        .join_from(ContestPlayer, Contest, col(Contest.id) == col(ContestPlayer.contest_id))
        .join(Bot, col(Bot.id) == col(ContestPlayer.bot_id))
        .where(col(Contest.id).in_(newest), col(ContestPlayer.bot_id).in_(bot_ids))
        .order_by(col(Contest.number))
    )
    found: dict[int, tuple[str, list[tuple[int, int]]]] = {}
    for number, name, evaluation_number, place in session.connection().execute(statement):
        assert place is not None, "the evaluation is done"
        found.setdefault(number, (name, []))[1].append((evaluation_number, place))
    return [records.Course(one, found[one][0], tuple(found[one][1])) for one in bot_ids if one in found]


DONE = (
    select(Contest)
    .where(Contest.season_id == bindparam("season"), Contest.state == ContestState.DONE)
    .order_by(col(Contest.number).desc())
    .limit(COURSE)
)


def _first(session: Session, newest: Sequence[Contest]) -> list[int]:
    """Return the first `TOP` bots of the newest evaluation; if it has fewer, bots of earlier evaluations follow."""
    found: dict[int, None] = {}
    for row in newest:
        best = select(ContestPlayer.bot_id).where(ContestPlayer.contest_id == row.id)
        found.update(dict.fromkeys(session.exec(best.order_by(col(ContestPlayer.place)).limit(TOP))))
        if row.kind is not ContestKind.STAGE or len(found) >= TOP:
            break
    return list(found)[:TOP]


Keep = Callable[[Hashable, Hashable, Callable[[], Any]], Any]
"""Returns what the third argument makes, or made earlier for the same key and version."""


def made_anew(_key: Hashable, _version: Hashable, make: Callable[[], Any]) -> Any:
    """Make the value; a `Keep` that keeps nothing."""
    return make()


def evaluation(
    session: Session,
    evaluation_id: int,
    versions: Collection[int] | None = None,
    *,
    skip: int = 0,
    limit: int | None = None,
    keep: Keep = made_anew,
) -> records.EvaluationDetail:
    """Return an evaluation with its standings: the places after the first `skip`. `versions`: only those. `keep` may
    cache the standings so far. Raises NotFound.
    """
    row = existing_evaluation(session, evaluation_id)
    told = session.connection().execute(THIS, {"evaluation": row.id}).one()
    placed = _final(session, row, versions, skip, limit)
    if placed is None:
        since = 1 if row.format is EvaluationFormat.ROUND_ROBIN else told.round
        version = (since, *session.connection().execute(SO_FAR, {"evaluation": row.id, "since": since}).one())
        found = keep(("standings", row.id), version, lambda: _so_far(session, row, since, keep))
        there = [one for one in found if versions is None or one.player in versions]
        placed = there[skip:][:limit]
    seats = seats_of(session, row.id, [one.player for one in placed])
    standings = [_standing(one, *seats[one.player]) for one in placed]
    state, ties = EvaluationState(row.state), bracket_of(session, row)
    return from_row(records.EvaluationDetail, told, state=state, standings=standings, bracket=ties)


def _so_far(session: Session, row: Contest, since: int, keep: Keep) -> list[Placed]:
    """Compute the standings. The round `since` is still being drawn or played; the meetings before it do not change."""
    earlier = keep(("met", row.id), since, lambda: meetings(session, row.id, until=since - 1))
    return standings_of(session, row, [*earlier, *meetings(session, row.id, since)])


def _final(
    session: Session, row: Contest, versions: Collection[int] | None, skip: int, limit: int | None
) -> list[Placed] | None:
    """Return the standings as stored at the end of the evaluation, or None if they were not stored."""
    connection, mine = session.connection(), {"evaluation": row.id}
    if connection.execute(KEPT, mine).first() is None:
        return None
    places = PLACES if versions is None else PLACES.where(col(ContestPlayer.version_id).in_(versions))
    return [Placed(*one) for one in connection.execute(places.offset(skip).limit(limit), mine)]


_MINE = col(ContestPlayer.contest_id) == bindparam("evaluation")
SO_FAR = columns(
    select(func.count())
    .where(Meeting.contest_id == bindparam("evaluation"), Meeting.round >= bindparam("since"), col(Meeting.settled))
    .scalar_subquery(),
    select(func.count(col(ContestPlayer.gone_after))).where(_MINE).scalar_subquery(),
)
"""What the standings so far depend on: settled meetings do not change, nothing is drawn before everything drawn earlier
is settled, and a bot that was taken out does not come back.
"""
KEPT = columns(col(ContestPlayer.version_id)).where(_MINE, col(ContestPlayer.figures).is_not(None)).limit(1)
PLACES = (
    columns(*(getattr(ContestPlayer, name) for name in ("version_id", "seed", "place", "figures")))
    .where(_MINE)
    .order_by(col(ContestPlayer.place))
)


def versions_named(session: Session, evaluation_id: int, named: str) -> set[int]:
    """Return the versions of the field with `named` in the name of their bot, author or team."""
    found = (
        select(ContestPlayer.version_id)
        .join(Bot, col(Bot.id) == ContestPlayer.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .join(Team, col(Team.id) == Bot.team_id, isouter=True)
        .where(ContestPlayer.contest_id == evaluation_id, lookups.named(named))
    )
    return set(session.exec(found).all())


def pairings(
    session: Session,
    evaluation_id: int,
    number: int | None,
    versions: Collection[int] | None = None,
    *,
    skip: int = 0,
    limit: int | None = None,
) -> tuple[list[records.EvaluationPairing], int]:
    """Return the pairings of a round, or of all drawn rounds (None), in the order of rounds and boards: those after the
    first `skip`, and the total number. `versions`: only theirs. Raises NotFound.
    """
    row = existing_evaluation(session, evaluation_id)
    shown, counted = _shown(number is not None, versions is not None)
    wanted = {"evaluation": row.id, "round": number, "versions": list(versions or ())}
    found = drawn(session, shown, **wanted, skip=skip, most=NO_LIMIT if limit is None else limit)
    count: int = session.connection().execute(counted, wanted).scalar_one()
    seated = {player for one in found for player in one.players}
    seats = {version: one.seat for version, one in seats_of(session, row.id, seated).items()}
    by_now = points_of(session, row.season_id, [meeting for meeting in found if meeting.points is None])
    matches = matches_of(session, [meeting.id for meeting in found])
    return [_pairing(meeting, seats, by_now, matches.get(meeting.id, [])) for meeting in found], count


NO_LIMIT = 2**31 - 1


@cache
def _shown(of_round: bool, of_versions: bool) -> tuple[Any, Any]:
    """Return the statements for meetings, and for their number."""
    which = [col(Meeting.contest_id) == bindparam("evaluation")]
    if of_round:
        which.append(col(Meeting.round) == bindparam("round"))
    if of_versions:
        theirs = col(MeetingPlayer.version_id).in_(bindparam("versions", expanding=True))
        which.append(exists().where(col(MeetingPlayer.meeting_id) == col(Meeting.id), theirs))
    page = select(Meeting.id).where(*which).order_by(col(Meeting.round), col(Meeting.board))
    page = page.offset(bindparam("skip", type_=Integer)).limit(bindparam("most", type_=Integer))
    return with_players(col(Meeting.id).in_(page)), select(func.count()).select_from(Meeting).where(*which)


def _standing(one: Placed, seat: records.EvaluationSeat, author: str, gone: bool) -> records.EvaluationStanding:
    return records.EvaluationStanding(
        place=one.place,
        seed=one.seed,
        bot_id=seat.bot_id,
        bot=seat.bot,
        author=author,
        version=seat.version,
        version_id=seat.version_id,
        gone=gone,
        **{**NO_FIGURES, **one.figures},
    )


def _pairing(
    row: Drawn, seats: dict[int, records.EvaluationSeat], by_now: dict[int, tuple[float, ...]], match_ids: list[int]
) -> records.EvaluationPairing:
    points = by_now[row.id] if row.points is None else row.points
    return records.EvaluationPairing(
        round=row.round,
        board=row.board,
        first=seats[row.players[0]],
        second=seats[row.players[1]] if len(row.players) > 1 else None,
        first_points=points[0],
        second_points=points[1] if len(points) > 1 else 0.0,
        seats=[seats[player] for player in row.players],
        points=[*points],
        settled=row.points is not None,
        match_ids=match_ids,
    )
