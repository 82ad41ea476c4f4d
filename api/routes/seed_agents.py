"""The interface of the site from which one of our games comes, so that agents written for it play here, too.

It is a door to the same tables as `/v1/tables`, and no part of the API's document: its words are another site's. A
match is a table, a sequence our turn's number, an agent a key (`league.states.TokenKind.AGENT`) of somebody's account,
which opens nothing else, and whose owner sees and revokes it there. The view is the line that a program would be asked
with, where that is JSON; `lines` is always what it would have read since its last answer.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ConfigDict, Field, StringConstraints
from sqlmodel import Session

from deadheat.api.deps import Id, Received, Shared, asker, credentials, look_up
from deadheat.api.edge.arrival import Arrival
from deadheat.api.routes.tables import until_news
from deadheat.api.schemas import MAX_ID, Input, Label, LabelOrEmpty
from deadheat.api.services import Services
from deadheat.api.watching import keep_record
from deadheat.engine.core import MAX_LINE_BYTES
from deadheat.engine.games.folder import folders, protocol_of
from deadheat.league import errors
from deadheat.league.database import settings_of
from deadheat.league.records.tables import TableTurn
from deadheat.league.service.people.access import issue_agent_key
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import queueing, turns, viewing
from deadheat.league.service.tables.sitting import Agent
from deadheat.league.states import NOT_OVER, SeatKind, TableState, TokenKind

Told = dict[str, Any]

NO_KEY = "the request has none: register with the token of an account, as Authorization: Bearer TOKEN"


router = APIRouter(prefix="/api")


@dataclass(frozen=True, slots=True)
class Player:
    """An agent, and the owner of its key."""

    person: Person
    agent: Agent


def player_of(shared: Services, key: str) -> Player:
    """Return the agent with this key. Raises BadToken."""
    known = look_up(shared, key, TokenKind.AGENT)
    return Player(known.person, Agent(known.label, known.model))


def player(request: Request, shared: Shared, sent: Annotated[Any, Depends(credentials)]) -> Player:
    """Return the agent that asks. Raises BadToken, OverQuota."""
    if sent is None:
        raise errors.BadToken("the request has none")
    known = player_of(shared, sent.credentials)
    shared.rates.write_by(request, known.person.id)
    return known


Asking = Annotated[Player, Depends(player)]


class Lenient(Input):
    """A body whose unknown fields are ignored, because others have written its senders."""

    model_config = ConfigDict(extra="ignore")


class Registration(Lenient):
    """A new agent."""

    name: Annotated[Label, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _-]*$")]
    model: LabelOrEmpty = ""


class Wanted(Lenient):
    """The game that an agent wants to play. There is one lane: a move has 30 seconds."""

    gameId: str = Field(max_length=64)  # noqa: N815  the interface's name


class Action(Lenient):
    """A move: the game's action as JSON, or {"line": "..."}."""

    sequence: int = Field(ge=0, le=MAX_ID)
    action: dict[str, Any]


@router.post("/agents", status_code=201)
def register(request: Request, shared: Shared, sent: Annotated[Any, Depends(credentials)], body: Registration) -> Told:
    """Make a key for an agent of the account whose token is sent."""
    if sent is None:
        raise errors.BadToken(NO_KEY)
    issued = shared.change(issue_agent_key, asker(request, shared, sent), body.name, body.model, sent.credentials)
    about = {"id": str(issued.id), "name": body.name, "model": body.model, "apiKey": issued.secret}
    address = (shared.settings.site_url or str(request.base_url)).rstrip("/")
    return about | {"claim_url": f"{address}/account", "verification_code": None}


@router.get("/games")
def games(tag: str = "") -> list[Told]:
    return [_game(name) for name in folders() if tag in ("", name)]


@router.get("/games/{game}")
def game(game: str) -> Told:
    return _game(game)


@router.get("/games/{game}/rules")
def rules(game: str) -> Told:
    known = _game(game)
    return {"gameId": game, "version": str(folders()[game].rules.rules_version), "content": known["rules"]}


@router.get("/games/{game}/validator")
def validator(game: str) -> Told:
    """Return the JSON schema of the game's actions."""
    _game(game)
    file = folders()[game].path / "action.schema.json"
    if not file.is_file():
        raise HTTPException(404, "This game's actions have no schema: send lines.")
    schema: Told = json.loads(file.read_text("utf-8"))
    return schema


def _game(name: str) -> Told:
    if name not in folders():
        raise errors.UnknownGame(name, tuple(sorted(folders())))
    its, protocol = folders()[name].rules, protocol_of(name)
    text = "" if protocol is None else protocol.read_text("utf-8")
    seats = {"minPlayers": its.seats.start, "maxPlayers": its.seats.stop - 1}
    about = {"id": name, "name": its.title, "description": its.title, "estimatedDuration": None, "tags": [name]}
    return {**about, **seats, "rules": text}


@router.post("/matchmaking/queue")
def queue(shared: Shared, player: Asking, body: Wanted) -> Told:
    before = shared.read(queueing.queued, player.person, body.gameId, player.agent.name)
    shared.change(queueing.queue, player.person, body.gameId, player.agent)
    told = shared.read(_place, player, body.gameId)
    return told | ({"status": "already_queued"} if before is not None and told["status"] == "queued" else {})


@router.get("/matchmaking/status")
def place(shared: Shared, player: Asking, game: Annotated[str, Query(alias="gameId", max_length=64)]) -> Told:
    return shared.read(_place, player, game)


@router.delete("/matchmaking/queue")
def leave(shared: Shared, player: Asking, game: Annotated[str, Query(alias="gameId", max_length=64)] = "") -> Told:
    for each in folders() if not game else [game]:
        shared.change(queueing.leave, player.person, each, player.agent.name)
    return {"status": "not_queued"}


def _place(session: Session, player: Player, game: str) -> Told:
    table_id = queueing.queued(session, player.person, game, player.agent.name)
    if table_id is None:
        return {"status": "not_queued"}
    info = viewing.table_info(session, table_id)
    if info.state is TableState.OPEN:
        return {"status": "queued", "position": sum(bool(each.name) for each in info.players)}
    return {"status": "matched", "matchId": str(table_id)}


@router.get("/matches/{match_id}/state")
async def state(
    shared: Shared,
    player: Asking,
    request: Request,
    match_id: Id,
    wait: bool = False,
    after: Annotated[int, Query(alias="afterSequence", ge=0, le=MAX_ID)] = 0,
) -> Told:
    """Return the match as the agent sees it; `wait`: once it is asked a turn after `after` or the match is over, within
    25 seconds.
    """
    if wait:
        await run_in_threadpool(shared.read, must_sit, player, match_id)
        await until_news(shared, player.person, request, match_id, after)
    return await run_in_threadpool(shared.change, state_of, player, match_id)


@router.post("/matches/{match_id}/action")
def act(arrival: Received, shared: Shared, player: Asking, match_id: Id, body: Action) -> Told:
    play(shared, player, match_id, body.sequence, body.action, arrival)
    return shared.change(state_of, player, match_id)


def play(shared: Services, player: Player, match_id: int, sequence: int, action: Told, arrival: Arrival) -> None:
    """Make a move. Raises as `turns.answer`."""
    line = action.get("line")
    if not isinstance(line, str):
        line = json.dumps(action, separators=(",", ":"))
    if len(line) > MAX_LINE_BYTES or not line.isprintable():
        raise errors.IllegalMove("a move is one short line")
    shared.read(must_sit, player, match_id)
    given = (line, SeatKind.AGENT, arrival.ago, arrival.ours)
    receipt = shared.change(turns.answer, player.person, match_id, sequence, *given)
    if receipt.refused is not None:
        raise errors.IllegalMove(receipt.refused)
    if receipt.is_last:
        keep_record(shared, match_id)


def must_sit(session: Session, player: Player, match_id: int) -> list[Any]:
    """Return the stamps of the agent's answers. Raises NotFound: it has no seat, though another of its owner may."""
    seat = turns.own_seat(turns.at_table(session, match_id), player.person, SeatKind.AGENT)
    if seat.name != player.agent.name:
        raise errors.NotFound("table", match_id)
    return seat.turns


def state_of(session: Session, player: Player, match_id: int) -> Told:
    """Return the match as the agent sees it now, and begin its clock if it is asked."""
    answered = must_sit(session, player, match_id)
    turn = viewing.next_turn(session, player.person, match_id, answered[-1][0] if answered else 0)
    told = {"matchId": str(match_id), "gameId": turn.game, "sequence": turn.turn, "lines": turn.lines}
    if turn.state not in NOT_OVER:
        return told | {"status": "game_over", "view": None, **_end(session, turn)}
    status = "waiting" if turn.prompt is None else "your_turn"
    return told | {"status": status, "view": _view(turn), "deadline": turn.deadline_at}


def _view(turn: TableTurn) -> Told:
    if turn.prompt is not None and turn.prompt.startswith("{"):
        view: Told = json.loads(turn.prompt)
        return view
    return {"lines": turn.lines, "prompt": turn.prompt}


def _end(session: Session, turn: TableTurn) -> Told:
    info = viewing.table_info(session, turn.table_id)
    ranks, points = info.ranks or (), info.points or (None,) * len(info.players)
    results = [
        {"name": player.known_as, "seat": player.seat, "rank": rank, "points": gained, "you": player.seat == turn.seat}
        for player, rank, gained in zip(info.players, ranks, points, strict=False)
    ]
    replay = f"{settings_of(session).site_url.rstrip('/')}/play/{turn.table_id}"
    return {"results": results, "reason": info.cause or "finished", "replayUrl": replay}
