"""Evaluations as flat tables, from which anybody can repeat every draw and recompute every place."""

from __future__ import annotations

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, or_, select

from deadheat.league.service.exports.pages import Page, Scope, cells
from deadheat.league.tables import Bot, BotVersion, Evaluation, EvaluationPairing, EvaluationPlayer

EVALUATION = (
    "number", "name", "format", "rounds", "matches", "rated", "stage", "keep", "further", "third_place", "rules",
    "tie_breaks", "state", "reason", "due_at",
)  # fmt: skip


def evaluations(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each evaluation."""
    statement = select(Evaluation).where(*_wanted(scope), Evaluation.id > after)
    found = session.exec(statement.order_by(col(Evaluation.id)).limit(limit)).all()
    rows = [{"evaluation_id": row.id, **cells(row, *EVALUATION, "created_at", "ended_at")} for row in found]
    return rows, found[-1].id if len(found) == limit else None


def evaluation_players(session: Session, scope: Scope, after: int, _limit: int) -> Page:
    """Return one row for each version in each evaluation's field; a page covers one evaluation."""
    following = select(Evaluation.id).where(*_wanted(scope), Evaluation.id > after)
    evaluation_id = session.exec(following.order_by(col(Evaluation.id)).limit(1)).first()
    if evaluation_id is None:
        return [], None
    statement = (
        select(EvaluationPlayer, Bot.name, BotVersion.number)
        .join(Bot, col(Bot.id) == EvaluationPlayer.bot_id)
        .join(BotVersion, col(BotVersion.id) == EvaluationPlayer.version_id)
        .where(EvaluationPlayer.evaluation_id == evaluation_id, *scope.about(EvaluationPlayer.bot_id))
        .order_by(col(EvaluationPlayer.seed))
    )
    rows = [
        {
            **cells(row, "evaluation_id", "seed"),
            "bot": bot,
            "version": number,
            **cells(row, "bot_id", "version_id", "place", "figures", "gone_after"),
        }
        for row, bot, number in session.exec(statement)
    ]
    return rows, evaluation_id


def evaluation_pairings(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each pairing and each bye."""
    statement = (
        select(EvaluationPairing)
        .join(Evaluation, col(Evaluation.id) == EvaluationPairing.evaluation_id)
        .where(Evaluation.season_id == scope.season_id, EvaluationPairing.id > after)
    )
    if scope.bot_id is not None:
        theirs = select(BotVersion.id).where(BotVersion.bot_id == scope.bot_id)
        sides = (col(EvaluationPairing.first_id).in_(theirs), col(EvaluationPairing.second_id).in_(theirs))
        statement = statement.where(or_(*sides))
    found = session.exec(statement.order_by(col(EvaluationPairing.id)).limit(limit)).all()
    names = ("evaluation_id", "round", "board", "first_id", "second_id", "first_points", "second_points")
    rows = [{"pairing_id": row.id, **cells(row, *names)} for row in found]
    return rows, found[-1].id if len(found) == limit else None


def _wanted(scope: Scope) -> list[ColumnElement[bool]]:
    """Return the condition that an evaluation belongs to the season, and the bot to the evaluation."""
    wanted = [col(Evaluation.season_id) == scope.season_id]
    if scope.bot_id is not None:
        with_it = select(EvaluationPlayer.evaluation_id).where(EvaluationPlayer.bot_id == scope.bot_id)
        wanted.append(col(Evaluation.id).in_(with_it))
    return wanted
