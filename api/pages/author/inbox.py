"""The inbox: notices about events that concern its owner."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from deadheat.api.deps import Shared
from deadheat.api.pages.forms import Submitted, Visiting, checked, onward, private
from deadheat.api.pages.render import first_of
from deadheat.api.schemas.base import RowId
from deadheat.api.schemas.people import ReadRequest
from deadheat.league.service.people import notices

router = APIRouter(include_in_schema=False)

LISTED = 50


@router.get("/inbox")
def inbox(shared: Shared, visit: Visiting, before: Annotated[RowId | None, Query()] = None) -> Response:
    """Show all notices, the newest first."""
    with shared.db.reading() as session:
        found = notices.inbox(session, visit.person, before=before, limit=LISTED + 1)
    shown, older = first_of(found, LISTED, lambda notice: notice.id)
    return private(shared, "inbox.html", visit, None, notices=shown, older=older)


@router.post("/inbox/read")
def mark_read(shared: Shared, posted: Submitted) -> Response:
    """Mark the notices that were shown, and older ones, as read."""
    up_to = checked(ReadRequest, posted.fields).up_to
    with shared.db.transaction() as session:
        notices.mark_read(session, posted.visit.person, up_to)
    return onward("/inbox")
