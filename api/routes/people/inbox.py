"""The inbox: notices about events that concern you."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import Asker, Shared
from deadheat.api.schemas import base
from deadheat.api.schemas import people as schemas
from deadheat.league.service.people import notices

router = APIRouter(prefix="/v1/inbox", tags=["inbox"])


class InboxPage(base.Page):
    """The filter of a list of notices."""

    unread: bool = False


@router.get("", responses={401: {}})
def list_notices(shared: Shared, asker: Asker, page: Annotated[InboxPage, Query()]) -> schemas.Inbox:
    """List your notices, the newest first, and how many you have not read. They are kept for 90 days."""
    with shared.db.reading() as session:
        found = notices.inbox(session, asker, unread=page.unread, before=page.before, limit=page.size)
        unread = notices.count_unread(session, asker)
    return schemas.Inbox(items=found, unread=unread, next=page.next(found, lambda one: one.id))


@router.post("/read", responses={401: {}, 403: {}})
def mark_read(shared: Shared, asker: Asker, body: schemas.ReadRequest) -> schemas.Unread:
    """Mark all notices up to a given one as read; later ones stay unread."""
    return schemas.Unread(unread=shared.change(notices.mark_read, asker, body.up_to))
