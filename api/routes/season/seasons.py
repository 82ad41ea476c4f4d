"""Seasons: organisers run them, and everyone can see them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from deadheat.api.deps import Asker, Id, Shared, UserName
from deadheat.api.schemas import base
from deadheat.api.schemas import seasons as schemas
from deadheat.league.records.seasons import Season, SeasonDetail, Unfinished
from deadheat.league.service.course import states
from deadheat.league.service.course.finals import finals_progress
from deadheat.league.service.course.open_matters import season_unfinished
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.staged import stages_of
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.seasons.admission import invite_to_season, invited_to_season, uninvite_from_season
from deadheat.league.service.seasons.divisions import change_divisions
from deadheat.league.service.seasons.seasons import edit_season, season_info, season_progress, seasons

router = APIRouter(prefix="/v1/seasons", tags=["seasons"])


@router.post("", status_code=201, responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def create_season(shared: Shared, asker: Asker, body: schemas.SeasonRequest, response: Response) -> Season:
    """Create a scheduled season. Organisers only."""
    given = body.model_dump(exclude_unset=True, exclude={"divisions"})
    divisions = [(division.name, division.size) for division in body.divisions]
    season = shared.change(league_seasons.create_season, asker, divisions=divisions, **given)
    response.headers["Location"] = f"/v1/seasons/{season.id}"
    return season


class SeasonChoice(base.Query):
    """The filter of a list of seasons."""

    author: base.Name | None = Field(
        None, description="Only seasons that this author's bots, or those of their teams, have entered."
    )
    results: bool = Field(False, description="Only seasons in which a match has ended.")


@router.get("", responses={404: {}})
def list_seasons(shared: Shared, chosen: Annotated[SeasonChoice, Query()]) -> base.Items[Season]:
    """List all seasons, the newest first."""
    return base.Items[Season](items=shared.read(seasons, author=chosen.author, with_results=chosen.results))


@router.get("/{season_id}", responses={404: {}})
def get_season(shared: Shared, season_id: Id) -> SeasonDetail:
    """Return a season and its progress."""
    with shared.db.reading() as session:
        info = season_info(session, season_id)  # this comes first, to raise NotFound for an unknown season
        left = season_unfinished(session, season_id)
        return SeasonDetail.model_construct(
            **dict(info),
            progress=season_progress(session, season_id),
            unfinished=Unfinished(left.appeals, left.matches, left.rejudged, left.finals),
            waits_for=states.waits_for(session, season_id),
            finals_progress=finals_progress(session, season_id),
            stage_progress=stages_of(session, season_id),
        )


@router.patch("/{season_id}", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def change_season(shared: Shared, asker: Asker, season_id: Id, body: schemas.SeasonChange) -> Season:
    """Change settings that may still change; open, freeze or close the season, or begin its finals. Organisers only.

    Closing drops series that have not begun. Those in progress still count, and the standings are published when they
    have ended. A season with open appeals, matches or finals closes only with `force`.
    """
    given = body.model_dump(exclude_unset=True, exclude={"state", "divisions", "force"})
    with shared.db.transaction() as session:
        if body.divisions is not None:
            wanted = [(division.name, division.size) for division in body.divisions]
            change_divisions(session, asker, season_id, wanted)
        season = edit_season(session, asker, season_id, **given)
        if body.state is not None:
            season = set_season_state(session, asker, season_id, body.state, force=body.force)
    return season


@router.get("/{season_id}/invitations", responses={401: {}, 403: {}, 404: {}})
def list_invited(shared: Shared, asker: Asker, season_id: Id) -> schemas.Invited:
    """List the authors invited to a season with `admission=invited`. Organisers only."""
    return schemas.Invited(items=shared.read(invited_to_season, asker, season_id))


@router.put("/{season_id}/invitations/{name}", responses={401: {}, 403: {}, 404: {}})
def invite(shared: Shared, asker: Asker, season_id: Id, name: UserName) -> schemas.Invited:
    """Invite an author. Organisers only."""
    return schemas.Invited(items=shared.change(invite_to_season, asker, season_id, name))


@router.delete("/{season_id}/invitations/{name}", responses={401: {}, 403: {}, 404: {}})
def uninvite(shared: Shared, asker: Asker, season_id: Id, name: UserName) -> schemas.Invited:
    """Remove an author from the list; this ends no entry. Organisers only."""
    return schemas.Invited(items=shared.change(uninvite_from_season, asker, season_id, name))
