"""Matches to watch, also while they are played, and to verify."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from api.deps import Id, Shared
from api.edge.caching import answer
from api.live import live_body, live_key
from api.replays import replay_body, verification_body
from api.services import Body, Services
from league.errors import WrongState
from league.records.matches import Match
from league.service.views.matches import match_detail
from league.states import MatchState

router = APIRouter(prefix="/v1/matches", tags=["matches"])

JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {}}},
    304: {"description": "Not modified"},
    404: {},
    409: {},
}


@router.get("/{match_id}/replay", response_class=Response, responses=JSON)
def get_replay(shared: Shared, match_id: Id, request: Request) -> Response:
    """A finished match as scenes, each a sentence and the whole state of the game: what the viewer draws."""
    return _answer(shared, match_id, request, replay_body)


@router.get("/{match_id}/verification", response_class=Response, responses=JSON)
def verify(shared: Shared, match_id: Id, request: Request) -> Response:
    """Re-simulate a finished match here: whether rules, dice and recorded answers lead to the ranked result.
    ``verified`` is null where it was played by rules that this server does not have.
    """
    return _answer(shared, match_id, request, verification_body)


@router.get("/{match_id}/live", response_class=Response, responses={200: JSON[200], 304: JSON[304], 404: {}})
def watch(shared: Shared, match_id: Id, request: Request) -> Response:
    """A match that is being played, as far as a spectator may see it: ``told`` (a sentence), ``ends`` (nothing more
    will be shown here) and ``match``, a document as that of a replay or null.
    """
    body = live_body(shared, match_id)
    shared.bodies.remember(request.scope, live_key(match_id))  # however many watch from one address
    return answer(request, body)


def _answer(
    shared: Services, match_id: int, request: Request, made: Callable[[Services, Match], Body | None]
) -> Response:
    with shared.db.reading() as session:
        match = match_detail(session, match_id)
    if match.state is not MatchState.DONE:
        raise WrongState.of_match(match.state, "there is a replay only of one that was played to its end")
    if match.withheld:
        raise WrongState.withheld()
    body = made(shared, match)
    if body is None:
        raise WrongState("lost", "The transcript cannot be read from the store; an operator has been told.")
    return answer(request, body)
