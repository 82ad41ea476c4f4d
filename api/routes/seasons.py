"""Seasons: everyone can see them, and organisers run them, by settings or by a file."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, model_validator

from deadheat.api import schemas as base
from deadheat.api.deps import REFUSED, Asker, Id, Shared, UserName
from deadheat.engine.games import GAMES
from deadheat.league.records.seasons import Declared, Forecast, Season, SeasonDetail, Unfinished
from deadheat.league.season_file import MAX_CHARACTERS
from deadheat.league.service.course import states
from deadheat.league.service.course.finals import finals_progress
from deadheat.league.service.evaluations.views import stages_of
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import note_archive
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.seasons.admission import invite_to_season, invited_to_season, uninvite_from_season
from deadheat.league.service.seasons.declared import apply_file, preview_file, season_as_file
from deadheat.league.service.seasons.divisions import change_divisions
from deadheat.league.service.views.forecasts import season_forecast
from deadheat.league.states import SeasonState
from deadheat.league.terms import MAX_DIVISIONS, DivisionName, DivisionSize, SeasonName, Terms

Bots = Annotated[int, Field(ge=2, le=100_000)]


class DivisionRequest(base.Input):
    """A part of the field."""

    name: DivisionName = Field(examples=["First"])
    size: DivisionSize | None = Field(default=None, description="Maximum number of entries; null: unlimited.")


class SeasonRequest(Terms, base.Input):
    """A new season. With `previous_id` it continues that one and copies its settings, divisions and entries."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in (("game", "string"), ("previous_id", "integer"))
            ],
            "examples": [{"name": "Winter 2026", "game": next(iter(GAMES))}],
        }
    )

    name: SeasonName = Field(examples=["Winter 2026"])
    game: str | None = Field(default=None, max_length=64)
    previous_id: base.RowId | None = Field(default=None, description="A closed season whose standings are published.")
    divisions: list[DivisionRequest] = Field(
        default=[], max_length=MAX_DIVISIONS, description="Highest first; empty: a single one of any size."
    )

    @model_validator(mode="after")
    def _has_a_game(self) -> Self:
        if self.game is None and self.previous_id is None:
            raise ValueError("a season needs a game, or a season to continue")
        return self


class SeasonChange(Terms, base.Input):
    """Changes to the state, the settings, or both (settings first)."""

    name: SeasonName | None = None
    state: SeasonState | None = None
    divisions: list[DivisionRequest] | None = Field(
        default=None,
        max_length=MAX_DIVISIONS,
        description="Highest first; empty: a single one. They are fixed once the season opens.",
    )
    force: bool = Field(default=False, description="Close it even if something in it is open.")


class ArchiveRequest(base.Input):
    """The hash of a season's archive."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class SeasonFileRequest(base.Input):
    """A season's file, as text."""

    document: str = Field(max_length=MAX_CHARACTERS, description="TOML (docs/reference/season-file.md).")
    preview: bool = Field(default=False, description="Check it and say what would change, but change nothing.")
    bots: Bots | None = Field(default=None, description="With `preview`: how many bots the forecast assumes.")


class Invited(base.Items[str]):
    """Authors invited to a season."""


router = APIRouter(prefix="/v1/seasons", tags=["seasons"])


@router.post("", status_code=201, responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def create_season(shared: Shared, asker: Asker, body: SeasonRequest, response: Response) -> Season:
    """Create a scheduled season. Organisers only."""
    given = body.model_dump(exclude_unset=True, exclude={"divisions"})
    divisions = [(division.name, division.size) for division in body.divisions]
    season = shared.change(league_seasons.create_season, asker, divisions=divisions, **given)
    response.headers["Location"] = f"/v1/seasons/{season.id}"
    return season


class _SeasonChoice(base.Query):
    """The filter of a list of seasons."""

    author: base.Name | None = Field(
        None, description="Only seasons that this author's bots, or those of their teams, have entered."
    )
    results: bool = Field(False, description="Only seasons in which a match has ended.")


@router.get("", responses={404: {}})
def list_seasons(shared: Shared, chosen: Annotated[_SeasonChoice, Query()]) -> base.Items[Season]:
    """List all seasons, the newest first."""
    return base.Items[Season](
        items=shared.read(league_seasons.seasons, author=chosen.author, with_results=chosen.results)
    )


@router.get("/{season_id}", responses={404: {}})
def get_season(shared: Shared, season_id: Id) -> SeasonDetail:
    """Return a season and its progress."""
    with shared.db.reading() as session:
        info = league_seasons.season_info(session, season_id)  # first, to raise NotFound for an unknown season
        left = states.unfinished(session, season_id)
        return SeasonDetail.model_construct(
            **dict(info),
            progress=league_seasons.season_progress(session, season_id),
            unfinished=Unfinished(left.appeals, left.matches, left.rejudged, left.finals),
            waits_for=states.waits_for(session, season_id),
            finals_progress=finals_progress(session, season_id),
            stage_progress=stages_of(session, season_id),
        )


@router.patch("/{season_id}", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def change_season(shared: Shared, asker: Asker, season_id: Id, body: SeasonChange) -> Season:
    """Change settings that may still change; open, freeze or close the season, or begin its finals. Organisers only.

    Closing drops series that have not begun. Those in progress still count, and the standings are published when they
    have ended. A season with open appeals, matches or finals closes only with `force`.
    """
    given = body.model_dump(exclude_unset=True, exclude={"state", "divisions", "force"})
    with shared.db.transaction() as session:
        if body.divisions is not None:
            wanted = [(division.name, division.size) for division in body.divisions]
            change_divisions(session, asker, season_id, wanted)
        season = league_seasons.edit_season(session, asker, season_id, **given)
        if body.state is not None:
            season = states.set_season_state(session, asker, season_id, body.state, force=body.force)
    return season


@router.get("/{season_id}/invitations", responses={401: {}, 403: {}, 404: {}})
def list_invited(shared: Shared, asker: Asker, season_id: Id) -> Invited:
    """List the authors invited to a season with `admission=invited`. Organisers only."""
    return Invited(items=shared.read(invited_to_season, asker, season_id))


@router.put("/{season_id}/invitations/{name}", responses={401: {}, 403: {}, 404: {}})
def invite(shared: Shared, asker: Asker, season_id: Id, name: UserName) -> Invited:
    """Invite an author. Organisers only."""
    return Invited(items=shared.change(invite_to_season, asker, season_id, name))


@router.delete("/{season_id}/invitations/{name}", responses={401: {}, 403: {}, 404: {}})
def uninvite(shared: Shared, asker: Asker, season_id: Id, name: UserName) -> Invited:
    """Remove an author from the list; this ends no entry. Organisers only."""
    return Invited(items=shared.change(uninvite_from_season, asker, season_id, name))


files_router = APIRouter(prefix="/v1", tags=["seasons"])

TOML = "application/toml"
A_SEASON: Mapping[str, Any] = {"content": {TOML: {"schema": {"type": "string"}}}}


class _Reckoned(base.Query):
    """The assumptions of a forecast."""

    bots: Bots | None = Field(None, description="How many bots; left out: those that have entered.")


@files_router.post("/season-files", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def create_from_file(shared: Shared, asker: Asker, body: SeasonFileRequest) -> Declared:
    """Create a season from a file, or preview it. Organisers only."""
    return declare(shared, asker, body, None)


@files_router.put("/seasons/{season_id}/file", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def change_by_file(shared: Shared, asker: Asker, season_id: Id, body: SeasonFileRequest) -> Declared:
    """Change a season to what a file declares, or preview the changes. Organisers only."""
    return declare(shared, asker, body, season_id)


@files_router.post("/seasons/{season_id}/archives", status_code=204, responses={**REFUSED, 422: {}})
def note(shared: Shared, asker: Asker, season_id: Id, body: ArchiveRequest) -> None:
    """Record the hash of a closed season's archive in the audit log. Organisers only."""
    shared.change(note_archive, asker, season_id, body.sha256)


@files_router.get(
    "/seasons/{season_id}/file", response_class=Response, responses={200: {**A_SEASON}, 401: {}, 403: {}, 404: {}}
)
def get_file(shared: Shared, asker: Asker, season_id: Id) -> Response:
    """Return the file that declares the season as it is. Organisers only."""
    return _file(shared.read(season_as_file, asker, season_id), season_id)


@files_router.get("/seasons/{season_id}/season.toml", response_class=Response, responses={200: {**A_SEASON}, 404: {}})
def get_public_file(shared: Shared, season_id: Id) -> Response:
    """Return the file that declares the season as it is, without the list of invited authors. For everyone."""
    return _file(shared.read(season_as_file, None, season_id), season_id)


def _file(text: str, season_id: int) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="season-{season_id}.toml"', "Cache-Control": "no-store"}
    return Response(text, headers=headers, media_type=TOML)


@files_router.get("/seasons/{season_id}/forecast", responses={401: {}, 403: {}, 404: {}, 422: {}})
def get_forecast(shared: Shared, asker: Asker, season_id: Id, chosen: Annotated[_Reckoned, Query()]) -> Forecast:
    """Forecast when the season's evaluations will be done, and whether there are enough machines. Organisers only."""
    return shared.read(season_forecast, asker, season_id, chosen.bots)


def declare(shared: Shared, asker: Person, body: SeasonFileRequest, season_id: int | None) -> Declared:
    """Preview or apply a file. `season_id` None: create a season."""
    if body.preview:
        return shared.read(preview_file, asker, body.document, season_id, body.bots)
    return shared.change(apply_file, asker, body.document, season_id)
