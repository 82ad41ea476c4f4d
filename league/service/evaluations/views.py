"""How stages, brackets and the versions of a field are read from the database."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.league.pairing.notation import Stage, stages
from deadheat.league.pairing.tournament import Tie
from deadheat.league.records import contests as records
from deadheat.league.service.evaluations.playing import (
    UNSETTLED,
    drawn,
    form_of,
    meetings,
    players_of,
    points_of,
)
from deadheat.league.states import ContestKind, ContestState, EvaluationState
from deadheat.league.tables import Bot, BotVersion, Contest, ContestPlayer, Season, User

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
    seats = {version: seat.seat for version, seat in seats_of(session, row.id).items()}
    form = form_of(session.get_one(Season, row.season_id), row)
    unsettled = drawn(session, UNSETTLED, contest_id=row.id)
    so_far = points_of(session, row.season_id, unsettled)
    in_play: dict[frozenset[int | None], Mapping[int | None, float]] = {
        frozenset(meeting.players): dict(zip(meeting.players, so_far[meeting.id], strict=True)) for meeting in unsettled
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
    among = () if versions is None else (col(ContestPlayer.version_id).in_([*versions]),)
    rows = session.connection().execute(SEATS.where(*among), {"evaluation": evaluation_id})
    return {
        version_id: Seated(records.EvaluationSeat(bot_id, bot, number, version_id), author, gone_after is not None)
        for version_id, bot_id, bot, number, author, gone_after in rows
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
