"""Choosing a language: a link in every page's foot, which leads back to that page."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from deadheat.api.deps import Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.languages import COOKIE, KEPT_SECONDS
from deadheat.api.pages.forms import came_from, onward
from deadheat.league.locale import LANGUAGES

router = APIRouter(include_in_schema=False)


@router.get("/language/{chosen}")
def choose(request: Request, shared: Shared, chosen: str) -> Response:
    """Keep the choice in this browser, and go back."""
    if chosen not in LANGUAGES:
        raise HTTPException(404)
    answer = onward(came_from(request, shared) or "/")
    secure = sessions.is_secure(request, shared.settings)
    answer.set_cookie(COOKIE, chosen, KEPT_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
    return answer
