"""The choice of a language: a link at the foot of every page, which leads back to that page."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from deadheat.api.deps import Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.languages import COOKIE, KEPT_SECONDS
from deadheat.api.pages.forms import Present, came_from, onward
from deadheat.league.locale import LANGUAGES
from deadheat.league.service.people import channels

router = APIRouter()


@router.get("/language/{chosen}")
def choose(request: Request, shared: Shared, visit: Present, chosen: str) -> Response:
    """Store the choice in this browser, and for messages to a signed-in person, then go back."""
    if chosen not in LANGUAGES:
        raise HTTPException(404)
    came = came_from(request, shared)
    if visit is not None and came is not None:
        shared.change(channels.speak, visit.person, chosen)
    answer = onward(came or "/")
    secure = sessions.is_secure(request, shared.settings)
    answer.set_cookie(COOKIE, chosen, KEPT_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
    return answer
