"""Evaluations as flat tables, from which anybody can repeat every draw and recompute every place."""

from __future__ import annotations

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from deadheat.league.service.evaluations.playing import Drawn, drawn, with_players
from deadheat.league.service.exports.pages import Page, Row, Scope, cell, cells
from deadheat.league.states import EVALUATIONS
from deadheat.league.tables import Bot, BotVersion, Contest, ContestPlayer, Meeting, MeetingPlayer, Season

EVALUATION = (
    "number", "name", "format", "rounds", "matches", "rated", "stage", "keep", "further", "third_place", "rules",
    "tie_breaks", "state", "reason", "due_at",
)  # fmt: skip


def evaluations(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each evaluation."""
    statement = select(Contest).where(*_wanted(scope), Contest.id > after)
    found = session.exec(statement.order_by(col(Contest.id)).limit(limit)).all()
    rows = [{"evaluation_id": row.id, **cells(row, *EVALUATION, "created_at", "ended_at")} for row in found]
    return rows, found[-1].id if len(found) == limit else None


def evaluation_players(session: Session, scope: Scope, after: int, _limit: int) -> Page:
    """Return one row for each version in each evaluation's field; a page covers one evaluation."""
    following = select(Contest.id).where(*_wanted(scope), Contest.id > after)
    evaluation_id = session.exec(following.order_by(col(Contest.id)).limit(1)).first()
    if evaluation_id is None:
        return [], None
    statement = (
        select(ContestPlayer, Bot.name, BotVersion.number)
        .join(Bot, col(Bot.id) == ContestPlayer.bot_id)
        .join(BotVersion, col(BotVersion.id) == ContestPlayer.version_id)
        .where(ContestPlayer.contest_id == evaluation_id, *scope.about(ContestPlayer.bot_id))
        .order_by(col(ContestPlayer.seed))
    )
    rows = [
        {
            "evaluation_id": row.contest_id,
            "seed": row.seed,
            "bot": bot,
            "version": number,
            **cells(row, "bot_id", "version_id", "place", "figures", "gone_after"),
        }
        for row, bot, number in session.exec(statement)
    ]
    return rows, evaluation_id


def evaluation_pairings(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each pairing and each bye. At larger tables, `players` and `points` list all of them."""
    statement = (
        select(Meeting.id)
        .join(Contest, col(Contest.id) == Meeting.contest_id)
        .where(Contest.season_id == scope.season_id, col(Contest.kind).in_(EVALUATIONS), Meeting.id > after)
    )
    if scope.bot_id is not None:
        theirs = select(MeetingPlayer.meeting_id).join(BotVersion, col(BotVersion.id) == MeetingPlayer.version_id)
        statement = statement.where(col(Meeting.id).in_(theirs.where(BotVersion.bot_id == scope.bot_id)))
    page = col(Meeting.id).in_(statement.order_by(col(Meeting.id)).limit(limit))
    found = sorted(drawn(session, with_players(page)), key=lambda one: one.id)
    of = dict(session.exec(select(Meeting.id, Meeting.contest_id).where(page)).all())
    large = session.get_one(Season, scope.season_id).seats > 2
    return [_pairing(one, of[one.id], large) for one in found], found[-1].id if len(found) == limit else None


def _pairing(one: Drawn, evaluation_id: int, large: bool) -> Row:
    second = one.players[1] if len(one.players) > 1 else None
    points = (None, None) if one.points is None else (*one.points, 0.0)
    return {
        "pairing_id": one.id,
        "evaluation_id": evaluation_id,
        "round": one.round,
        "board": one.board,
        "first_id": one.players[0],
        "second_id": second,
        "first_points": points[0],
        "second_points": points[1],
        **({"players": cell([*one.players]), "points": cell(one.points and [*one.points])} if large else {}),
    }


def _wanted(scope: Scope) -> list[ColumnElement[bool]]:
    """Return the condition that an evaluation belongs to the season, and the bot to the evaluation."""
    wanted = [col(Contest.season_id) == scope.season_id, col(Contest.kind).in_(EVALUATIONS)]
    if scope.bot_id is not None:
        with_it = select(ContestPlayer.contest_id).where(ContestPlayer.bot_id == scope.bot_id)
        wanted.append(col(Contest.id).in_(with_it))
    return wanted
