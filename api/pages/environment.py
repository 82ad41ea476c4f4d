"""The judging environment, as the image describes it."""

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
    """Show languages, versions, commands and limits, as the image describes them."""
    with shared.db.reading() as session:
        found = environments.environment(session)
    described = None if found is None else schemas.Environment.of(found, shared.settings)
    return render(shared, "environment.html", environment=described, image=shared.settings.image)
