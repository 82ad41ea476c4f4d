"""Game tables for agents: programs of their owners that run elsewhere and answer over HTTP.

`next` waits without a thread: a waiting request looks at its table twice a second, as streams of people's tables do.
"""

import asyncio
import time
from hashlib import sha256
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from deadheat.api.deps import REFUSED, Asker, Id, Received, Shared
from deadheat.api.pages.player.exhibition import LOOK_SECONDS, Tables
from deadheat.api.schemas import MAX_ID, Input, Items, Label, LabelOrEmpty, Name, RowId
from deadheat.api.services import Services
from deadheat.api.watching import keep_record
from deadheat.engine.core import MAX_LINE_BYTES
from deadheat.engine.games import GAMES
from deadheat.league.errors import IllegalMove, NotFound
from deadheat.league.records import from_row
from deadheat.league.records.tables import Receipt, SeatAtTable, TableTurn, TableView
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import entering, queueing, sitting, turns, viewing
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.service.tables.sitting import Agent
from deadheat.league.states import NOT_OVER, SeatKind, TableState

router = APIRouter(prefix="/v1/tables", tags=["tables"])
seasons_router = APIRouter(prefix="/v1/seasons", tags=["tables"])

WAIT_SECONDS = 25.0
"""How long a request for the next turn is held: less than the 30 s after which many proxies give up."""

MOST_OPEN = 100
"""The most open tables of a list."""

HIDDEN = {"name": "-", "author": "", "model": ""}
"""Somebody who waits at a season's table."""

MOST_SEATS = 16
"""More than any game has; the game's own number is checked."""


class Joining(Input):
    """An agent, as it describes itself."""

    name: Label = Field(description="The agent's name, for those who watch.", examples=["my-agent"])
    model: LabelOrEmpty = Field(default="", description="Which model or program it is. Nobody checks it.")


class Entrant(Input):
    """An agent in seasons: the bot of its owner that has this name."""

    name: Name = Field(description="Its name, as that of a bot.", examples=["my-agent"])
    model: LabelOrEmpty = Field(
        default="", description="Which model or program it is: each is a version of its own. Nobody checks it."
    )


class Queueing(Joining):
    """An agent that wants to play a game."""

    game: str = Field(max_length=64, examples=[next(iter(GAMES))], json_schema_extra={"enum": [*sorted(GAMES)]})


class NewTable(Queueing):
    """A table to be made."""

    seats: list[Literal["me", "open"] | RowId] = Field(
        min_length=2,
        max_length=MOST_SEATS,
        description="Each seat's player: `me` once, `open` for another account's agent, or a bot's number.",
        examples=[["me", "open"]],
    )


class Answer(Input):
    """An answer to the present question."""

    line: str = Field(
        max_length=MAX_LINE_BYTES, description="What a program would print on stdout, without a line end."
    )


@router.post("", status_code=201, responses={**REFUSED, 429: {}})
def make_table(shared: Shared, asker: Asker, body: NewTable, response: Response) -> TableView:
    """Make an unrated table with a seat for your agent. The match begins when all seats are taken."""
    table_id = shared.change(sitting.open_table, asker, body.game, body.seats, Agent(body.name, body.model))
    response.headers["Location"] = f"/v1/tables/{table_id}"
    return _begun(shared, table_id)


@router.get("")
def list_open_tables(shared: Shared) -> Items[TableView]:
    """List the tables at which a seat is open, the newest first."""
    return Items[TableView](items=[_told(info) for info in shared.read(viewing.open_tables, MOST_OPEN)])


@router.post("/queue", responses={**REFUSED, 429: {}})
def queue(shared: Shared, asker: Asker, body: Queueing) -> TableView:
    """Seat your agent at the oldest open table of a game, or at a new one. After 30 seconds, the house's bots take the
    seats that are still open. An agent of this name that plays the game already keeps its table.
    """
    return _begun(shared, shared.change(queueing.queue, asker, body.game, Agent(body.name, body.model)))


@seasons_router.post("/{season_id}/table", responses={**REFUSED, 422: {}, 429: {}})
def queue_for_season(shared: Shared, asker: Asker, season_id: Id, body: Entrant) -> TableView:
    """Sit your agent down for a rated match in a season of agents. It waits at this table until all seats are taken;
    ask again if nobody comes. While it sits there, this returns the same table.
    """
    claim = entering.claim_of(agent := Agent(body.name, body.model))
    given = (asker, season_id, agent, name := sha256(claim).hexdigest())
    try:
        table_id = shared.change(entering.queue, *given, shared.blobs.has(name))
    except entering.NotStored:  # so nothing is stored of an agent that is refused
        shared.blobs.put(claim)
        table_id = shared.change(entering.queue, *given)
    return _begun(shared, table_id)


@router.get("/{table_id:int}", responses={404: {}})
def get_table(shared: Shared, table_id: Id) -> TableView:
    """Return a table. When it is over, `/v1/exhibitions/{table_id}/replay` and `/transcript` show how it was played; if
    it has a `match_id`, `/v1/matches/{match_id}/replay` and `/transcript` do.
    """
    info = shared.read(viewing.table_info, table_id)
    if info.state in NOT_OVER and any(player.kind is SeatKind.PERSON for player in info.players):
        raise NotFound("table", table_id)
    return _told(info)


@router.post("/{table_id}/seat", responses={**REFUSED, 429: {}})
def take_seat(shared: Shared, asker: Asker, table_id: Id, body: Joining) -> TableView:
    """Take the first open seat for your agent. An agent that has one keeps it."""
    shared.change(sitting.join_table, asker, table_id, Agent(body.name, body.model))
    return _begun(shared, table_id)


@router.get("/{table_id}/next", responses={401: {}, 404: {}, 429: {}})
async def next_turn(
    shared: Shared,
    asker: Asker,
    request: Request,
    table_id: Id,
    after: Annotated[int, Query(ge=0, le=MAX_ID, description="The last turn that you have answered; 0: none.")] = 0,
) -> TableTurn:
    """Wait for your agent's next question, at most 25 seconds. Your time begins when you get it."""
    await until_news(shared, asker, request, table_id)
    return await run_in_threadpool(shared.change, viewing.next_turn, asker, table_id, after)


async def until_news(shared: Services, person: Person, request: Request, table_id: int, after: int = 0) -> None:
    """Wait until the person's agent has to answer a turn after `after`, or the match is over, but not long. Raises
    NotFound, HTTPException.
    """
    tables: Tables = request.app.state.tables
    if not await run_in_threadpool(shared.read, viewing.is_news, person, table_id, after):
        tables.agents.check(request)  # only who must wait needs room
        with tables.agents.taken(request):
            ends = time.monotonic() + WAIT_SECONDS
            while time.monotonic() < ends and not await request.is_disconnected():
                await asyncio.sleep(LOOK_SECONDS)
                if await run_in_threadpool(shared.read, viewing.is_news, person, table_id, after):
                    break
    if await request.is_disconnected():  # nobody reads the answer, so nothing is delivered
        raise HTTPException(408)


@router.post("/{table_id}/turns/{turn}", responses={**REFUSED, 422: {}})
def answer_turn(
    arrival: Received,
    shared: Shared,
    asker: Asker,
    table_id: Id,
    turn: Annotated[int, Path(ge=1, le=MAX_ID, description="The question's number.")],
    body: Answer,
) -> Receipt:
    """Answer a question. 409: it has another answer (`answered`), it is not the present one (`stale`), or the time is
    over (`late`). 422: the rules refuse the answer. You may try again within your time; a third such answer
    counts as it is.
    """
    given = (body.line, SeatKind.AGENT, arrival.ago, arrival.ours)
    receipt = shared.change(turns.answer, asker, table_id, turn, *given)
    if receipt.refused is not None:
        raise IllegalMove(receipt.refused)
    if receipt.is_last:
        keep_record(shared, table_id)
    return from_row(Receipt, receipt)


@router.post("/{table_id}/resign", responses=REFUSED)
def resign(shared: Shared, asker: Asker, table_id: Id) -> TableView:
    """Leave the table. A match that has begun is lost, and played on for the others."""
    shared.change(turns.resign, asker, table_id, SeatKind.AGENT)
    keep_record(shared, table_id)
    return _told(shared.read(viewing.table_info, table_id))


def _begun(shared: Services, table_id: int) -> TableView:
    info = shared.read(viewing.table_info, table_id)
    if info.state is TableState.QUEUED:
        shared.nudge(TABLES, table_id)
    return _told(info)


def _told(info: viewing.TableInfo) -> TableView:
    """Describe a table to everybody. Who resigned is told when it is over: in a step that asks several, the others
    would know that they answer alone. Who waits at a season's table is told when it is full, and with it the dice that
    are its match's: nobody chooses opponents there.
    """
    waits = info.season_id is not None and info.match_id is None
    hidden: dict[str, object] = {"resigned": False} if info.state in NOT_OVER else {}
    told = [hidden | (HIDDEN if waits and each.name else {}) for each in info.players]
    players = tuple(from_row(SeatAtTable, each, **them) for each, them in zip(info.players, told, strict=True))
    return from_row(TableView, info, players=players, commitment="" if waits else info.commitment)
