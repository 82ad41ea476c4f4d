"""The environment in which bots run: languages, versions, commands, limits."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.deps import Shared
from deadheat.api.schemas import environment as schemas
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import environment

router = APIRouter(prefix="/v1/environment", tags=["environment"])


@router.get("", responses={404: {"description": "No worker has described the image yet"}})
def get_environment(shared: Shared) -> schemas.Environment:
    """Return the judging environment, as a worker read it from the image."""
    with shared.db.reading() as session:
        found = environment(session)
    if found is None:
        raise NotFound("description of the image", shared.settings.image)
    return schemas.Environment.of(found, shared.settings)
