"""Seasons: made, opened and closed by organisers, looked at by everyone."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api import schemas
from api.deps import Asker, Id, Shared
from league import service
from league.service.seasons import SeasonInfo

router = APIRouter(prefix="/v1/seasons", tags=["seasons"])


@router.post("", status_code=201, response_model=schemas.Season, responses={401: {}, 403: {}, 409: {}, 422: {}})
def create_season(shared: Shared, asker: Asker, body: schemas.SeasonRequest, response: Response) -> SeasonInfo:
    """A scheduled season; organisers only."""
    with shared.db.transaction() as session:
        season = service.create_season(session, asker, **body.model_dump())
    response.headers["Location"] = f"/v1/seasons/{season.id}"
    return season


@router.get("")
def list_seasons(shared: Shared) -> schemas.Seasons:
    """All seasons, the newest first."""
    with shared.db.reading() as session:
        found = service.seasons(session)
    return schemas.Seasons(items=[schemas.Season.model_validate(season) for season in found])


@router.get("/{season_id}", responses={404: {}})
def get_season(shared: Shared, season_id: Id) -> schemas.SeasonDetail:
    """A season and how far it is."""
    with shared.db.reading() as session:
        season = schemas.Season.model_validate(service.season_info(session, season_id))
        progress = schemas.Progress.model_validate(service.season_progress(session, season_id))
    return schemas.SeasonDetail(**season.model_dump(), progress=progress)


@router.patch("/{season_id}", response_model=schemas.Season, responses={401: {}, 403: {}, 404: {}, 409: {}})
def change_season(shared: Shared, asker: Asker, season_id: Id, body: schemas.SeasonChange) -> SeasonInfo:
    """Open, close and so on; organisers only. Closing drops what nobody has begun; what runs still counts."""
    with shared.db.transaction() as session:
        return service.set_season_state(session, asker, season_id, body.state)
