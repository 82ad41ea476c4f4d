"""What you are told of events that concern you."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.cursors import read_cursor, write_cursor
from deadheat.api.deps import Asker, Shared
from deadheat.api.schemas import base
from deadheat.api.schemas import people as schemas
from deadheat.league.service.people import notices

router = APIRouter(prefix="/v1/inbox", tags=["inbox"])


class InboxPage(base.Query):
    """Which part of the list."""

    unread: bool = False
    cursor: base.Cursor | None = None
    limit: base.Limit = 50


@router.get("", responses={401: {}})
def list_notices(shared: Shared, asker: Asker, page: Annotated[InboxPage, Query()]) -> schemas.Inbox:
    """What you were told, the newest first, and how many notices you have not read. They are kept for 90 days."""
    limit = min(page.limit, base.PAGE_LIMIT)
    with shared.db.reading() as session:
        found = notices.inbox(session, asker, unread=page.unread, before=read_cursor(page.cursor), limit=limit)
        unread = notices.count_unread(session, asker)
    following = write_cursor(found[-1].id) if len(found) == limit else None
    return schemas.Inbox(items=found, unread=unread, next=following)


@router.post("/read", responses={401: {}, 403: {}})
def mark_read(shared: Shared, asker: Asker, body: schemas.ReadRequest) -> schemas.Unread:
    """Mark all notices up to one as read; what came later stays unread."""
    with shared.db.transaction() as session:
        return schemas.Unread(unread=notices.mark_read(session, asker, body.up_to))
