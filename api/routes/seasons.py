"""Seasons: run by organisers, looked at by everyone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from api.deps import Asker, Id, Shared
from api.schemas import base
from api.schemas import seasons as schemas
from league.records.seasons import Season, SeasonDetail, Unfinished
from league.service.course import states
from league.service.course.finals_played import finals_progress
from league.service.course.open_matters import season_unfinished
from league.service.course.states import set_season_state
from league.service.seasons import seasons as league_seasons
from league.service.seasons.admission import invite_to_season, invited_to_season, uninvite_from_season
from league.service.seasons.divisions import change_divisions
from league.service.seasons.seasons import edit_season, season_info, season_progress, seasons

router = APIRouter(prefix="/v1/seasons", tags=["seasons"])

UserName = Annotated[str, Path(max_length=32, pattern=base.PLAIN)]


@router.post("", status_code=201, responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def create_season(shared: Shared, asker: Asker, body: schemas.SeasonRequest, response: Response) -> Season:
    """A scheduled season; organisers only."""
    given = body.model_dump(exclude_unset=True, exclude={"divisions"})
    divisions = [(division.name, division.size) for division in body.divisions]
    with shared.db.transaction() as session:
        season = league_seasons.create_season(session, asker, divisions=divisions, **given)
    response.headers["Location"] = f"/v1/seasons/{season.id}"
    return season


class SeasonChoice(base.Query):
    """Which seasons."""

    author: base.Name | None = Field(None, description="Those that this author's bots, or their teams', have entered.")
    results: bool = Field(False, description="Those in which a match has ended.")


@router.get("", responses={404: {}})
def list_seasons(shared: Shared, chosen: Annotated[SeasonChoice, Query()]) -> schemas.Seasons:
    """All seasons, the newest first."""
    with shared.db.reading() as session:
        return schemas.Seasons(items=seasons(session, author=chosen.author, with_results=chosen.results))


@router.get("/{season_id}", responses={404: {}})
def get_season(shared: Shared, season_id: Id) -> SeasonDetail:
    """A season and how far it is."""
    with shared.db.reading() as session:
        season = season_info(session, season_id)  # which says so where there is none
        left = season_unfinished(session, season_id)
        return SeasonDetail.model_construct(
            **dict(season),
            progress=season_progress(session, season_id),
            unfinished=Unfinished(left.appeals, left.matches, left.rejudged, left.finals),
            waits_for=states.waits_for(session, season_id),
            finals_progress=finals_progress(session, season_id),
        )


@router.patch("/{season_id}", responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}})
def change_season(shared: Shared, asker: Asker, season_id: Id, body: schemas.SeasonChange) -> Season:
    """Change settings that may still change, open, freeze, begin the finals, close; organisers only.

    Closing drops what nobody has begun. What runs still counts, and the standings are published when it has ended. A
    season in which something is open (appeals, matches, finals) is closed only with `force`.
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
    """Who may enter a season that admits only who is invited; organisers only."""
    with shared.db.reading() as session:
        return schemas.Invited(items=invited_to_season(session, asker, season_id))


@router.put("/{season_id}/invitations/{name}", responses={401: {}, 403: {}, 404: {}})
def invite(shared: Shared, asker: Asker, season_id: Id, name: UserName) -> schemas.Invited:
    """Put an author on the list; organisers only."""
    with shared.db.transaction() as session:
        return schemas.Invited(items=invite_to_season(session, asker, season_id, name))


@router.delete("/{season_id}/invitations/{name}", responses={401: {}, 403: {}, 404: {}})
def uninvite(shared: Shared, asker: Asker, season_id: Id, name: UserName) -> schemas.Invited:
    """Take an author off the list, which ends no entry; organisers only."""
    with shared.db.transaction() as session:
        return schemas.Invited(items=uninvite_from_season(session, asker, season_id, name))
