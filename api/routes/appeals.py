"""Appeals: an author doubts a match, the service re-simulates it, and an organiser rules."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import REFUSED, Asker, Id, Shared
from deadheat.api.schemas import base
from deadheat.api.schemas import rulings as shapes
from deadheat.league.records.rulings import Appeal
from deadheat.league.service.rulings import appeals as league_appeals
from deadheat.league.service.rulings.appeals import appealable, appeals
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import AppealState
from deadheat.league.verification.review import review

router = APIRouter(prefix="/v1", tags=["appeals"])


class AppealPage(base.Page):
    """The filter of a list of appeals."""

    season: base.RowId | None = None
    state: AppealState | None = None


@router.post("/matches/{match_id}/appeals", status_code=201, responses={401: {}, 404: {}, 409: {}})
def open_appeal(shared: Shared, asker: Asker, match_id: Id, body: shapes.AppealRequest) -> Appeal:
    """Appeal against a finished match of your bot. It is re-simulated at once.

    An organiser reads your text and the outcome, and rules.
    """
    with shared.db.reading() as session:
        appealable(session, asker, match_id)
        detail, whole = (match_detail(session, match_id, asker, whole=yes) for yes in (False, True))
    findings = review(shared.blobs, detail, whole)
    return shared.change(league_appeals.open_appeal, asker, match_id, body.text, findings)


@router.get("/appeals", responses={401: {}})
def list_appeals(shared: Shared, asker: Asker, page: Annotated[AppealPage, Query()]) -> base.Paged[Appeal]:
    """List appeals, the newest first: all for an organiser, their own for an author."""
    found = shared.read(appeals, asker, season_id=page.season, state=page.state, before=page.before, limit=page.size)
    return base.Paged[Appeal](items=found, next=page.next(found, lambda one: one.id))


@router.post("/appeals/{appeal_id}/ruling", responses=REFUSED)
def rule(shared: Shared, asker: Asker, appeal_id: Id, body: shapes.Ruling) -> Appeal:
    """Reject an appeal, or uphold it (and void the match or have it replayed). Organisers only."""
    return shared.change(
        league_appeals.rule, asker, appeal_id, uphold=body.uphold, ruling=body.ruling, remedy=body.remedy
    )


@router.post("/appeals/{appeal_id}/withdraw", responses={401: {}, 404: {}, 409: {}})
def withdraw_appeal(shared: Shared, asker: Asker, appeal_id: Id) -> Appeal:
    """Withdraw your open appeal."""
    return shared.change(league_appeals.withdraw_appeal, asker, appeal_id)
