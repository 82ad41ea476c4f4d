"""The judging environment, according to its image."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.deps import Shared
from deadheat.api.pages.render import everyones, render
from deadheat.api.schemas import environment as schemas
from deadheat.league.service.bots import environments

router = APIRouter()


@router.get("/environment")
@everyones
def environment(shared: Shared) -> str:
    """Show the image's description of languages, versions, commands and limits."""
    with shared.db.reading() as session:
        found = environments.environment(session)
    described = None if found is None else schemas.Environment.of(found, shared.settings)
    return render(shared, "environment.html", environment=described, image=shared.settings.image)
