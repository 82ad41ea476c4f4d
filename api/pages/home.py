"""Home: the seasons, what is being played, and what is new."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import Shared
from deadheat.api.pages.render import everyones, render
from deadheat.api.schemas.base import RowId
from deadheat.engine.games import GAMES
from deadheat.league.service.people import announcements as league_announcements
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.news import newest_versions, running_series
from deadheat.league.states import MatchState

router = APIRouter(include_in_schema=False)

SEASONS = 24
"""Of one page."""

NEWEST = 10
"""Matches, running series and versions shown."""


@router.get("/")
@everyones
def home(shared: Shared, before: Annotated[RowId | None, Query()] = None) -> str:
    """The newest seasons, or those before one."""
    with shared.db.reading() as session:
        seasons = league_seasons.seasons(session, limit=SEASONS + 1, before=before)
        announcements = league_announcements.announcements(session, limit=3)
        running = running_series(session, NEWEST)
        versions = newest_versions(session, NEWEST)
        matches = league_matches.matches(session, state=MatchState.DONE, limit=NEWEST)
    return render(
        shared,
        "home.html",
        games=sorted(GAMES),
        announcements=announcements,
        seasons=seasons[:SEASONS],
        older=seasons[SEASONS - 1].id if len(seasons) > SEASONS else None,
        newest=before is None,
        running=running,
        versions=versions,
        matches=matches,
    )
