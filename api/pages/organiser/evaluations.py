"""Evaluations at the desk: they are begun or cancelled on their season's page there."""

from __future__ import annotations

from fastapi import APIRouter, Response

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.forms import Submitted, checked, onward, posting
from deadheat.api.pages.organiser.season import season_page
from deadheat.api.pages.organiser.season_form import to_season
from deadheat.api.routes.season import evaluations
from deadheat.api.schemas.evaluations import EvaluationRequest

router = APIRouter(prefix="/desk/seasons/{season_id}/evaluations")

MATCHES = "matches"
"""The form's name for `each`, because a field with the name of a form's method would hide the method in a browser."""


@router.post("")
@posting("evaluation", season_page)
def begin_evaluation(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Begin an evaluation now. Empty fields count as omitted."""
    given = {MATCHES if name == "each" else name: value for name, value in posted.fields.items() if value}
    body = checked(EvaluationRequest, given)
    begun = evaluations.begin(shared, posted.visit.person, season_id, body, Response())
    return onward(f"/evaluations/{begun.id}")


@router.post("/{evaluation_id}/cancel")
@posting("evaluation", season_page)
def cancel_evaluation(shared: Shared, posted: Submitted, season_id: Id, evaluation_id: Id) -> Response:
    evaluations.cancel(shared, posted.visit.person, evaluation_id)
    return to_season(season_id, "cancelled")


@router.post("/{evaluation_id}/resume")
@posting("evaluation", season_page)
def resume_evaluation(shared: Shared, posted: Submitted, season_id: Id, evaluation_id: Id) -> Response:
    evaluations.resume(shared, posted.visit.person, evaluation_id)
    return to_season(season_id, "resumed")
