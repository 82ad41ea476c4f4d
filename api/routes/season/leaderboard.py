"""The leaderboard: the newest stored ranking, encoded to bytes once per ranking."""

from __future__ import annotations

from dataclasses import fields

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter

from deadheat.api.deps import Id, Shared
from deadheat.api.edge.caching import answer
from deadheat.api.services import Body, Services
from deadheat.league.records.rankings import Leaderboard
from deadheat.league.service.rankings.standings import leaderboard, newest_snapshot

router = APIRouter(prefix="/v1/seasons/{season_id}/leaderboard", tags=["seasons"])

_BOARDS = TypeAdapter(Leaderboard)


@router.get("", response_model=Leaderboard, responses={304: {"description": "Not modified"}, 404: {}})
async def get_leaderboard(shared: Shared, season_id: Id, request: Request) -> Response:
    """Return the newest ranking. Send its ETag as If-None-Match to learn cheaply whether there is a newer one."""
    key = ("leaderboard", season_id)
    body = shared.bodies.fresh(key)
    if body is None:
        body = await to_thread.run_sync(_body, shared, season_id, limiter=shared.showing)
    shared.bodies.remember(request.scope, key)
    return answer(request, body)


def _body(shared: Services, season_id: int) -> Body:
    key = ("leaderboard", season_id)
    with shared.db.reading() as session:
        newest = newest_snapshot(session, season_id)
        kept = shared.bodies.current(key, newest)
        if kept is not None:
            return kept
        board = leaderboard(session, season_id)
    about = {one.name: getattr(board, one.name) for one in fields(board) if one.name != "standings"}
    shown = _BOARDS.validate_python(about | board.standings)
    etag = f'"{season_id}-{board.snapshot_id or 0}"'
    content = _BOARDS.dump_json(shown)
    return shared.bodies.keep(key, Body(board.snapshot_id, etag, content, "application/json"))
