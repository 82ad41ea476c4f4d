"""The WebSockets of the seed's interface: `/ws/agent` tells which match was found, `/ws/game/N` asks and takes moves.

Theory of operation
-------------------
While it waits, a socket has no thread and no session, and looks at its table twice a second. What it pushes follows
from the database alone, so after a reconnect, or a restart of the site, a pending turn is pushed again, and a move that
was sent twice counts once. Whatever is told or taken begins with a look whether the key still holds. Messages are taken
one at a time; nothing more is read meanwhile, and each counts like a changing request. The server limits their size,
and ends sockets that answer no ping; when it ends itself, it closes all with 1012.

The key comes in the handshake's Authorization, which no browser sends by itself; another site's page is refused all the
same. A newer socket of an agent replaces its older one for the same match, within a process: two in different processes
both live, which is harmless.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any, Literal

from fastapi import HTTPException
from fastapi.concurrency import run_in_threadpool
from fastapi.security.utils import get_authorization_scheme_param
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import JSONResponse
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from deadheat.api.edge import sessions
from deadheat.api.edge.arrival import Arrival
from deadheat.api.errors import SOON, STATUS, in_seeds_words, log_outage
from deadheat.api.pages.player.exhibition import LOOK_SECONDS
from deadheat.api.routes.seed_agents import Lenient, Player, Told, must_sit, play, player_of, state_of
from deadheat.api.schemas import MAX_ID
from deadheat.api.services import Services
from deadheat.league import errors
from deadheat.league.service.tables import queueing, turns, viewing

log = logging.getLogger(__name__)

SLOWER_SECONDS = 1.0
"""The pause after a message that was one too many."""

_newest: dict[tuple[int, str, int], asyncio.Event] = {}
"""By agent and match (0: which match was found), what is set once its socket is replaced."""


class Move(Lenient):
    """A message of an agent."""

    type: Literal["action"]
    sequence: int
    payload: dict[str, Any]


async def serve(socket: WebSocket) -> None:
    """Serve one socket until it is closed or replaced, or its match is over."""
    shared: Services = socket.app.state.services
    streams, match_id = socket.app.state.tables.agents, socket.path_params.get("match_id", 0)
    try:
        player = await run_in_threadpool(_admitted, shared, socket, match_id)
        streams.check(socket)
    except (errors.LeagueError, HTTPException) as error:
        await socket.send_denial_response(_denial(error))
        return
    except SQLAlchemyError as error:
        log_outage("a WebSocket", error)
        await socket.send_denial_response(JSONResponse({"error": "database_away"}, 503, SOON))
        return
    await socket.accept()
    who, replaced = (player.person.id, player.agent.name, match_id), asyncio.Event()
    _newest.get(who, replaced).set()
    replaced.clear()
    _newest[who] = replaced
    push = _push_turns(shared, socket, player, match_id) if match_id else _push_matches(shared, socket, player)
    tasks = [asyncio.create_task(each) for each in (push, _hear(shared, socket, match_id), replaced.wait())]
    try:
        with streams.taken(socket):
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            with suppress(WebSocketDisconnect, RuntimeError):  # it may be gone already
                if replaced.is_set():
                    await socket.send_json({"type": "replaced"})
                await socket.close()
    finally:
        if _newest.get(who) is replaced:
            del _newest[who]
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, SQLAlchemyError):
                log_outage("a WebSocket", ended)
            elif isinstance(ended, Exception) and not isinstance(ended, (WebSocketDisconnect, errors.BadToken)):
                log.warning("a socket of table %d is closed; its agent may connect again", match_id, exc_info=ended)


def _admitted(shared: Services, socket: WebSocket, match_id: int) -> Player:
    """Return the agent of a handshake. Raises BadToken, OverQuota, NotFound; HTTPException: another site's page."""
    shared.rates.read(socket)
    origin = socket.headers.get("origin")
    if origin is not None and not sessions.is_own(origin, socket, shared.settings):
        raise HTTPException(403, sessions.FORGED)
    player = player_of(shared, _key(socket))
    if match_id > MAX_ID:
        raise errors.NotFound("table", match_id)
    if match_id:
        shared.read(must_sit, player, match_id)
    return player


def _key(socket: WebSocket) -> str:
    return get_authorization_scheme_param(socket.headers.get("authorization"))[1]


def _denial(error: errors.LeagueError | HTTPException) -> JSONResponse:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": "refused", "details": error.detail}, error.status_code, error.headers)
    status, word = in_seeds_words(STATUS[type(error)], error.code)
    return JSONResponse({"error": word, "details": str(error)}, status)


async def _push_matches(shared: Services, socket: WebSocket, player: Player) -> None:
    await socket.send_json({"type": "connected", "agentId": player.agent.name})
    told = set[int]()
    while True:
        for table_id, game in await run_in_threadpool(shared.read, queueing.found, player.person, player.agent.name):
            if table_id not in told:
                await run_in_threadpool(player_of, shared, _key(socket))
                told.add(table_id)
                await socket.send_json({"type": "match_found", "matchId": str(table_id), "gameId": game})
        await asyncio.sleep(LOOK_SECONDS)


async def _push_turns(shared: Services, socket: WebSocket, player: Player, match_id: int) -> None:
    await socket.send_json({"type": "connected", "matchId": str(match_id)})
    told = 0
    while True:
        if await run_in_threadpool(shared.read, viewing.is_news, player.person, match_id, told):
            player = await run_in_threadpool(player_of, shared, _key(socket))
            state = await run_in_threadpool(shared.change, state_of, player, match_id)
            if state["status"] == "game_over":
                return await socket.send_json({**state, "type": "game_over"})
            if state["status"] == "your_turn":
                told = state["sequence"]
                await socket.send_json({**state, "type": "your_turn", "deadline": state["deadline"].isoformat()})
        await asyncio.sleep(LOOK_SECONDS)


async def _hear(shared: Services, socket: WebSocket, match_id: int) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        arrival = Arrival()
        refused = await run_in_threadpool(_take, shared, _key(socket), match_id, message.get("text") or "", arrival)
        if refused is not None:
            await socket.send_json({"type": "error", **refused})
            await asyncio.sleep(SLOWER_SECONDS if "retryAfterMs" in refused else 0)


def _take(shared: Services, key: str, match_id: int, text: str, arrival: Arrival) -> Told | None:
    """Make the move in a message, and return why it was refused, if it was."""
    try:
        player = player_of(shared, key)
        shared.rates.message_by(player.person.id)
        move = Move.model_validate_json(text)
        play(shared, player, match_id, move.sequence, move.payload, arrival)
    except ValidationError:
        return {"error": "invalid_request", "details": 'Send {"type": "action", "sequence": N, "payload": {...}}.'}
    except errors.OverQuota as over:
        return {"error": "over_quota", "details": str(over), "retryAfterMs": over.retry_after_seconds * 1000}
    except errors.LeagueError as error:
        _, word = in_seeds_words(STATUS[type(error)], error.code, getattr(error, "state", None))
        current = shared.read(turns.at_table, match_id).row.turn if match_id else 0
        return {"error": word, "details": str(error), "currentSequence": current}
    return None


SOCKETS = (WebSocketRoute("/ws/agent", serve), WebSocketRoute("/ws/game/{match_id:int}", serve))
