"""Entries: bots in seasons."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from api import schemas
from api.cursors import read_cursor, write_cursor
from api.deps import Asker, Id, Shared
from league import service
from league.service.seasons import EntryInfo

router = APIRouter(prefix="/v1/seasons/{season_id}/entries", tags=["entries"])


class EntryPage(schemas.Input):
    """Which part of the list."""

    cursor: str | None = None
    limit: schemas.Limit = 100


@router.get("", responses={400: {}, 404: {}})
def list_entries(shared: Shared, season_id: Id, page: Annotated[EntryPage, Query()]) -> schemas.Entries:
    """Who takes part."""
    after = read_cursor(page.cursor) or 0
    with shared.db.reading() as session:
        found = service.entries(session, season_id, after, page.limit)
    following = write_cursor(found[-1].bot_id) if len(found) == page.limit else None
    return schemas.Entries(items=[schemas.Entry.model_validate(entry) for entry in found], next=following)


@router.put(
    "/{bot_id}",
    response_model=schemas.Entry,
    responses={401: {}, 404: {}, 409: {"description": "Closed, or not ready"}},
)
def enter(
    shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: schemas.EntryRequest | None = None
) -> EntryInfo:
    """Let one's own bot take part, or choose which version plays."""
    with shared.db.transaction() as session:
        return service.enter(session, asker, season_id, bot_id, body.version if body else None)
