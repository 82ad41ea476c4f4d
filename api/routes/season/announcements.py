"""Organisers' announcements."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.deps import Asker, Id, Number, Shared
from deadheat.api.schemas import rulings as shapes
from deadheat.api.schemas.base import Items
from deadheat.league.records.rulings import Announcement
from deadheat.league.service.people import notices as league_announcements
from deadheat.league.service.people.notices import announcements

router = APIRouter(prefix="/v1/announcements", tags=["announcements"])


@router.get("")
def list_announcements(shared: Shared, season: Number = None) -> Items[Announcement]:
    """List the newest 50 announcements. For a season, this includes those about the whole league."""
    with shared.db.reading() as session:
        return Items[Announcement](items=announcements(session, season))


@router.post("", status_code=201, responses={401: {}, 403: {}, 404: {}})
def announce(shared: Shared, asker: Asker, body: shapes.AnnouncementRequest) -> Announcement:
    """Publish an announcement. Organisers only."""
    with shared.db.transaction() as session:
        return league_announcements.announce(session, asker, body.season, body.title, body.text)


@router.delete("/{announcement_id}", status_code=204, responses={401: {}, 403: {}, 404: {}})
def take_down(shared: Shared, asker: Asker, announcement_id: Id) -> None:
    """Remove an announcement; the audit log still records it. Organisers only."""
    with shared.db.transaction() as session:
        league_announcements.take_down(session, asker, announcement_id)
