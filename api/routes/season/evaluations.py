"""Evaluations: tournaments beside a season's ladder, their standings and rounds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from deadheat.api.deps import REFUSED, Asker, Id, Shared
from deadheat.api.schemas import base
from deadheat.api.schemas import evaluations as schemas
from deadheat.league.records.evaluations import Evaluation, EvaluationDetail
from deadheat.league.service.evaluations import views
from deadheat.league.service.evaluations.beginning import begin_now, cancel_evaluation, resume_evaluation

router = APIRouter(prefix="/v1", tags=["evaluations"])

RoundNumber = Annotated[int, Path(ge=1, le=base.MAX_ID)]


@router.get("/seasons/{season_id}/evaluations", responses={404: {}})
def list_evaluations(shared: Shared, season_id: Id, page: Annotated[base.Page, Query()]) -> base.Paged[Evaluation]:
    """List the season's evaluations, the newest first."""
    with shared.db.reading() as session:
        found = views.evaluations(session, season_id, before=page.before, limit=page.size)
    return base.Paged[Evaluation](items=found, next=page.next(found, lambda one: one.number))


@router.post("/seasons/{season_id}/evaluations", status_code=201, responses={**REFUSED, 422: {}})
def begin(
    shared: Shared, asker: Asker, season_id: Id, body: schemas.EvaluationRequest, response: Response
) -> EvaluationDetail:
    """Begin an evaluation now, whatever the timetable says. Organisers only."""
    with shared.db.transaction() as session:
        row = begin_now(session, asker, season_id, body.declared)
        made = views.evaluation(session, row.id)
    response.headers["Location"] = f"/v1/evaluations/{made.id}"
    return made


@router.get("/evaluations/{evaluation_id}", responses={404: {}})
def get_evaluation(shared: Shared, evaluation_id: Id) -> EvaluationDetail:
    """Return an evaluation with its standings: final ones, or those so far."""
    with shared.db.reading() as session:
        return views.evaluation(session, evaluation_id)


@router.get("/evaluations/{evaluation_id}/rounds/{number}", responses={404: {}})
def get_round(shared: Shared, evaluation_id: Id, number: RoundNumber) -> schemas.EvaluationRound:
    """List the pairings of a round with their matches; there are none before it is drawn."""
    with shared.db.reading() as session:
        return schemas.EvaluationRound(items=views.pairings(session, evaluation_id, number)[0])


@router.post("/evaluations/{evaluation_id}/cancel", responses=REFUSED)
def cancel(shared: Shared, asker: Asker, evaluation_id: Id) -> EvaluationDetail:
    """End an evaluation that is being played, without final standings. Organisers only."""
    with shared.db.transaction() as session:
        cancel_evaluation(session, asker, evaluation_id)
        return views.evaluation(session, evaluation_id)


@router.post("/evaluations/{evaluation_id}/resume", responses=REFUSED)
def resume(shared: Shared, asker: Asker, evaluation_id: Id) -> EvaluationDetail:
    """Continue a cancelled evaluation; what was dropped with it is played, too. Organisers only."""
    with shared.db.transaction() as session:
        resume_evaluation(session, asker, evaluation_id)
        return views.evaluation(session, evaluation_id)
