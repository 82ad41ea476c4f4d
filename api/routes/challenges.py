"""Unrated matches that authors ask for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from deadheat.api.deps import REFUSED, Asker, Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.schemas import base
from deadheat.api.schemas import challenges as schemas
from deadheat.api.schemas.matches import Matches
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.duels import requests, views
from deadheat.league.service.views.matches import matches

router = APIRouter(prefix="/v1/challenges", tags=["challenges"])


class ChallengePage(base.Page):
    """The filter of a list of challenges."""

    season: base.RowId | None = None


@router.post("", status_code=201, responses={**REFUSED, 429: {}})
def ask(shared: Shared, asker: Asker, body: schemas.ChallengeRequest, response: Response) -> AskedChallenge:
    """Ask for unrated matches. Rated matches go first, an author's challenges one after another."""
    with shared.db.transaction() as session:
        made = requests.ask(session, asker, body.season_id, **body.question())
    response.headers["Location"] = f"/v1/challenges/{made.id}"
    return made


@router.get("", responses={401: {}})
def list_challenges(
    shared: Shared, asker: Asker, page: Annotated[ChallengePage, Query()]
) -> base.Paged[AskedChallenge]:
    """List the challenges of your bots, the newest first."""
    with shared.db.reading() as session:
        found = views.asked(session, asker, season_id=page.season, before=page.before, limit=page.size)
    return base.Paged[AskedChallenge](items=found, next=page.next(found, lambda one: one.id))


@router.get("/{challenge_id}", responses={404: {}})
def get_challenge(shared: Shared, viewer: Viewer, challenge_id: Id, response: Response) -> AskedChallenge:
    """Return a challenge with its counts. Only its bot's owners and organisers see a private one."""
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        return views.asked_challenge(session, viewer, challenge_id)


@router.get("/{challenge_id}/matches", responses={404: {}})
def list_matches(
    shared: Shared, viewer: Viewer, challenge_id: Id, page: Annotated[base.Page, Query()], response: Response
) -> Matches:
    """List a challenge's matches, the last planned first."""
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        views.asked_challenge(session, viewer, challenge_id)
        found = matches(session, challenge_id=challenge_id, before=page.before, limit=page.size)
    return Matches(items=found, next=page.next(found, lambda one: one.id))


@router.post("/{challenge_id}/stop", responses={401: {}, 404: {}, 409: {}})
def stop(shared: Shared, asker: Asker, challenge_id: Id) -> AskedChallenge:
    """End a challenge of one of your bots. Matches in progress are played to the end."""
    with shared.db.transaction() as session:
        return requests.stop(session, asker, challenge_id)
