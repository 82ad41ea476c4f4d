"""Home: all seasons and the newest matches."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api.deps import Shared
from api.pages.render import page, render
from league import service
from league.states import MatchState

router = APIRouter(include_in_schema=False)

RECENT = 20
"""Matches shown."""


@router.get("/")
async def home(shared: Shared, request: Request) -> Response:
    """All seasons."""

    def make() -> str:
        with shared.db.reading() as session:
            seasons = service.seasons(session, limit=50)
            announcements = service.announcements(session, limit=3)
            recent = service.matches(session, state=MatchState.DONE, limit=RECENT)
        return render(shared, "home.html", announcements=announcements, seasons=seasons, matches=recent)

    return await page(shared, request, "home", make)
