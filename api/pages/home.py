"""The home page: a match that plays by itself, the seasons, the games, and news; and the choice of a language."""

import time
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from sqlmodel import Session

from deadheat.api.deps import Number, Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.middleware import LANGUAGE_COOKIE, LANGUAGE_SECONDS
from deadheat.api.pages.forms import Present, came_from, onward
from deadheat.api.pages.match import worth_watching
from deadheat.api.pages.render import everyones, first_of, render
from deadheat.engine.games import GAMES
from deadheat.league.errors import BlobsAway
from deadheat.league.locale import LANGUAGES
from deadheat.league.service.people import channels
from deadheat.league.service.people import notices as league_announcements
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views import overview
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.states import MatchState, dated_steps

router = APIRouter()

SEASONS = 24
NEWEST = 6
TRIED = 5
"""The most matches whose transcripts are looked for in the store before none is shown."""


@router.get("/")
@everyones
def home(shared: Shared, before: Number = None) -> str:
    """Show the newest seasons, or those before a given one."""
    with shared.db.reading() as session:
        seasons = league_seasons.seasons(session, limit=SEASONS + 1, before=before)
        shown, older = first_of(seasons, SEASONS)
        leaders = overview.leaders(session, [season.id for season in shown])
        cards: list[dict[str, Any]] = []
        for season in shown:
            steps = dated_steps(season, season.state)  # the next one is shown, if there is one
            coming = next(((name.removesuffix("_at"), at) for _, name, at in steps), None)
            cards.append({"season": season, "leader": leaders.get(season.id), "coming": coming})
        minute = int(time.monotonic() // 60)  # choosing takes a while
        number = None if before else shared.boards.newest_part("featured", minute, lambda: _chosen(shared, session))
        values = {
            "games": [GAMES[name] for name in sorted(GAMES)],
            "announcements": league_announcements.announcements(session, limit=3),
            "cards": [card for card in cards if card["season"].state.goes_on],
            "past": [card for card in cards if not card["season"].state.goes_on],
            "running": overview.running_series(session, NEWEST),
            "stop": stopped(session),
            "versions": overview.newest_versions(session, NEWEST),
            "matches": league_matches.matches(session, state=MatchState.DONE, limit=NEWEST),
            "worth": {} if before else worth_watching(shared, session),
            "featured": None if number is None else league_matches.match_detail(session, number),
        }
    return render(shared, "home.html", older=older, newest=before is None, **values)


def _chosen(shared: Shared, session: Session) -> int | None:
    """Return the first match worth watching whose transcript is public and stored."""
    for number in overview.worth_watching(session)[:TRIED]:
        transcript = league_matches.match_detail(session, number).transcript_sha256
        try:
            if transcript is not None and shared.blobs.has(transcript):
                return number
        except BlobsAway:
            return None
    return None


@router.get("/language/{chosen}")
def choose(request: Request, shared: Shared, visit: Present, chosen: str) -> Response:
    """Store the choice in this browser, and for messages to a signed-in person, then go back."""
    if chosen not in LANGUAGES:
        raise HTTPException(404)
    came = came_from(request, shared)
    if visit is not None and came is not None:
        shared.change(channels.speak, visit.person, chosen)
    answer = onward(came or "/")
    sessions.set_cookie(answer, request, shared.settings, LANGUAGE_COOKIE, chosen, LANGUAGE_SECONDS)
    return answer
