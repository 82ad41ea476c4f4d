"""The inbox: notices of events that concern its owner."""

from __future__ import annotations

from fastapi import APIRouter, Response

from deadheat.api.deps import Number, Shared
from deadheat.api.pages.forms import Submitted, Visiting, checked, onward, private
from deadheat.api.pages.render import ROWS, first_of
from deadheat.api.schemas.people import ReadRequest
from deadheat.league.service.people import notices

router = APIRouter()


@router.get("/inbox")
def inbox(shared: Shared, visit: Visiting, before: Number = None) -> Response:
    """Show all notices, the newest first."""
    with shared.db.reading() as session:
        found = notices.inbox(session, visit.person, before=before, limit=ROWS + 1)
    shown, older = first_of(found, ROWS)
    return private(shared, "inbox.html", visit, None, notices=shown, older=older)


@router.post("/inbox/read")
def mark_read(shared: Shared, posted: Submitted) -> Response:
    """Mark the notices that were shown, and older ones, as read."""
    up_to = checked(ReadRequest, posted.fields).up_to
    with shared.db.transaction() as session:
        notices.mark_read(session, posted.visit.person, up_to)
    return onward("/inbox")
