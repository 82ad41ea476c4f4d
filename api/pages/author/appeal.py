"""Appeals against a match, from its page."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.forms import Complaint, Submitted, Visit, Visiting, checked, onward, posting, private
from deadheat.api.routes import rulings as shapes
from deadheat.api.routes.rulings import open_appeal, withdraw_appeal
from deadheat.api.services import Services
from deadheat.league.service.rulings.appeals import appeals
from deadheat.league.service.views.matches import match_detail

router = APIRouter()

SHOWN = 100
"""The number of newest appeals shown about one match."""


def _appeal(shared: Services, visit: Visit, match_id: int, complaint: Complaint | None = None, **_: Any) -> Response:
    with shared.db.reading() as session:
        match = match_detail(session, match_id, visit.person)
        found = appeals(session, visit.person, match_id=match_id, limit=SHOWN)
        own = {item.id for item in appeals(session, visit.person, match_id=match_id, own=True, limit=SHOWN)}
    return private(shared, "appeal.html", visit, complaint, match=match, appeals=found, own=own)


@router.get("/matches/{match_id}/appeal")
def appeal_page(shared: Shared, visit: Visiting, match_id: Id) -> Response:
    """Show the visitor's appeals about the match (for organisers: all appeals), and the form for another."""
    return _appeal(shared, visit, match_id)


@router.post("/matches/{match_id}/appeal")
@posting("appeal", _appeal)
def appeal(shared: Shared, posted: Submitted, match_id: Id) -> Response:
    """Appeal a match: it is re-simulated at once."""
    open_appeal(shared, posted.visit.person, match_id, checked(shapes.AppealRequest, posted.fields))
    return onward(f"/matches/{match_id}/appeal")


@router.post("/matches/{match_id}/appeals/{appeal_id}/withdraw")
@posting("appeal", _appeal)
def withdraw(shared: Shared, posted: Submitted, match_id: Id, appeal_id: Id) -> Response:
    withdraw_appeal(shared, posted.visit.person, appeal_id)
    return onward(f"/matches/{match_id}/appeal")
