"""Matches to watch, even during play, and to verify."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from deadheat.api.deps import Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE, answer
from deadheat.api.live import live_body, live_key
from deadheat.api.replays import JSON, made_of, verified
from deadheat.api.services import Services
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript
from deadheat.league.errors import WrongState
from deadheat.league.records.matches import Match
from deadheat.league.service.people.person import Person
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import Asked, MatchState
from deadheat.league.verification.agreement import disagreements

router = APIRouter(prefix="/v1/matches", tags=["matches"])


@router.get("/{match_id}/replay", response_class=Response, responses=JSON)
def get_replay(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Return a finished match as scenes, each a sentence and the game's whole state, which the viewer draws."""
    match = _done(shared, match_id, viewer)
    body = made_of(shared, match, "replay", lambda record: document(record, match.names))
    return answer(request, body, _kept(match))


@router.get("/{match_id}/verification", response_class=Response, responses=JSON)
def verify(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Re-simulate a finished match: do rules, dice and recorded answers lead to the ranked result?
    ``verified`` is null if it was played by rules that this server does not have.
    """
    match = _done(shared, match_id, viewer)

    def check(record: Transcript) -> dict[str, Any]:
        return verified(record, disagreements(record, match))

    return answer(request, made_of(shared, match, "verification", check), _kept(match))


@router.get("/{match_id}/live", response_class=Response, responses={200: JSON[200], 304: JSON[304], 404: {}})
def watch(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Return a match in progress, as far as a spectator may see it: ``told`` (a sentence), ``ends`` (nothing more will
    be shown here) and ``match``, a document like that of a replay, or null.
    """
    body, private = live_body(shared, match_id, viewer)
    shared.bodies.remember(request.scope, live_key(match_id))  # many viewers then cost one query
    return answer(request, body, NOWHERE if private else "no-cache")


def _kept(match: Match) -> str:
    """Return the caching directive for documents made from a match."""
    return NOWHERE if match.asked is Asked.PRIVATE else "no-cache"


def _done(shared: Services, match_id: int, viewer: Person | None) -> Match:
    match = shared.read(match_detail, match_id, viewer)
    if match.state is not MatchState.DONE:
        raise WrongState.of_match(match.state, "only matches that were played to the end have a replay")
    if match.withheld:
        raise WrongState.withheld()
    return match
