"""Appealing a match, from its page."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api.deps import Id, Shared
from api.pages.forms import Complaint, Submitted, Visit, Visiting, attempt, checked, onward, private
from api.schemas import rulings as shapes
from api.services import Services
from league.service.rulings import appeals as league_appeals
from league.service.rulings.appeals import appealable, open_appeal, withdraw_appeal
from league.service.views.matches import match_detail
from league.verification.review import review

router = APIRouter(include_in_schema=False)

SHOWN = 100
"""Appeals about one match, the newest."""


@router.get("/matches/{match_id}/appeal")
def appeal_page(shared: Shared, visit: Visiting, match_id: Id) -> Response:
    """One's appeals about the match (an organiser: everybody's), and the form for another."""
    return _appeal(shared, visit, match_id, None)


@router.post("/matches/{match_id}/appeal")
def appeal(shared: Shared, posted: Submitted, match_id: Id) -> Response:
    """Doubt the match: it is re-simulated at once."""
    person = posted.visit.person

    def act() -> Response:
        body = checked(shapes.AppealRequest, posted.fields)
        with shared.db.reading() as session:
            appealable(session, person, match_id)
            detail = match_detail(session, match_id)
        findings = review(shared.blobs, detail)
        with shared.db.transaction() as session:
            open_appeal(session, person, match_id, body.text, findings)
        return onward(f"/matches/{match_id}/appeal")

    return attempt("appeal", posted.fields, act, lambda complaint: _appeal(shared, posted.visit, match_id, complaint))


@router.post("/matches/{match_id}/appeals/{appeal_id}/withdraw")
def withdraw(shared: Shared, posted: Submitted, match_id: Id, appeal_id: Id) -> Response:
    """Take one's own open appeal back."""

    def act() -> Response:
        with shared.db.transaction() as session:
            withdraw_appeal(session, posted.visit.person, appeal_id)
        return onward(f"/matches/{match_id}/appeal")

    return attempt("appeal", {}, act, lambda complaint: _appeal(shared, posted.visit, match_id, complaint))


def _appeal(shared: Services, visit: Visit, match_id: int, complaint: Complaint | None) -> Response:
    with shared.db.reading() as session:
        match = match_detail(session, match_id)
        appeals = league_appeals.appeals(session, visit.person, match_id=match_id, limit=SHOWN)
        own = {
            item.id for item in league_appeals.appeals(session, visit.person, match_id=match_id, own=True, limit=SHOWN)
        }
    return private(shared, "appeal.html", visit, complaint, match=match, appeals=appeals, own=own)
