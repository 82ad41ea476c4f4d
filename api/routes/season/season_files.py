"""A season as a file: fetched, previewed, applied; a forecast of its timetable; the hash of its archive. Only the file
without the list of invited authors is for everyone; the rest is for organisers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from deadheat.api.deps import REFUSED, Asker, Id, Shared
from deadheat.api.schemas import base
from deadheat.api.schemas.seasons import ArchiveRequest, Bots, SeasonFileRequest
from deadheat.api.services import Services
from deadheat.league.records.seasons import Declared, Forecast
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import note_archive
from deadheat.league.service.seasons.declared import apply_file, preview_file, season_as_file, season_as_public_file
from deadheat.league.service.views.forecasts import season_forecast

router = APIRouter(prefix="/v1", tags=["seasons"])

TOML = "application/toml"
A_SEASON: Mapping[str, Any] = {"content": {TOML: {"schema": {"type": "string"}}}}


class Reckoned(base.Query):
    """The assumptions of a forecast."""

    bots: Bots | None = Field(None, description="How many bots; left out: those that have entered.")


@router.post("/season-files", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def create_from_file(shared: Shared, asker: Asker, body: SeasonFileRequest) -> Declared:
    """Create a season from a file, or preview it. Organisers only."""
    return declare(shared, asker, body, None)


@router.put("/seasons/{season_id}/file", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def change_by_file(shared: Shared, asker: Asker, season_id: Id, body: SeasonFileRequest) -> Declared:
    """Change a season to what a file declares, or preview the changes. Organisers only."""
    return declare(shared, asker, body, season_id)


@router.post("/seasons/{season_id}/archives", status_code=204, responses={**REFUSED, 422: {}})
def note(shared: Shared, asker: Asker, season_id: Id, body: ArchiveRequest) -> None:
    """Record the hash of a closed season's archive in the audit log. Organisers only."""
    with shared.db.transaction() as session:
        note_archive(session, asker, season_id, body.sha256)


@router.get(
    "/seasons/{season_id}/file", response_class=Response, responses={200: {**A_SEASON}, 401: {}, 403: {}, 404: {}}
)
def get_file(shared: Shared, asker: Asker, season_id: Id) -> Response:
    """Return the file that declares the season as it is. Organisers only."""
    with shared.db.reading() as session:
        return _file(season_as_file(session, asker, season_id), season_id)


@router.get("/seasons/{season_id}/season.toml", response_class=Response, responses={200: {**A_SEASON}, 404: {}})
def get_public_file(shared: Shared, season_id: Id) -> Response:
    """Return the file that declares the season as it is, without the list of invited authors. For everyone."""
    with shared.db.reading() as session:
        return _file(season_as_public_file(session, season_id), season_id)


def _file(text: str, season_id: int) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="season-{season_id}.toml"', "Cache-Control": "no-store"}
    return Response(text, headers=headers, media_type=TOML)


@router.get("/seasons/{season_id}/forecast", responses={401: {}, 403: {}, 404: {}, 422: {}})
def get_forecast(shared: Shared, asker: Asker, season_id: Id, chosen: Annotated[Reckoned, Query()]) -> Forecast:
    """Forecast when the season's evaluations will be done, and whether there are enough machines. Organisers only."""
    with shared.db.reading() as session:
        return season_forecast(session, asker, season_id, chosen.bots)


def declare(shared: Services, asker: Person, body: SeasonFileRequest, season_id: int | None) -> Declared:
    """Preview or apply a file. `season_id` None: create a season."""
    if body.preview:
        with shared.db.reading() as session:
            return preview_file(session, asker, body.document, season_id, body.bots)
    with shared.db.transaction() as session:
        return apply_file(session, asker, body.document, season_id)
