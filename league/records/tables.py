"""Records of game tables, for agents and those who watch them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.engine.core import Fault
from deadheat.league.records import Record
from deadheat.league.states import SeatKind, TableState


@dataclass(frozen=True, slots=True)
class SeatAtTable(Record):
    """A seat at a game table, and its player."""

    seat: int
    kind: SeatKind
    name: Annotated[str, Field(description="The player's name; empty: the seat is open; `-`: not told yet.")]
    author: Annotated[str, Field(description="The owner of a bot or an agent.")]
    bot_id: Annotated[int, Field(description="The bot's number; 0: it is none.")]
    version: Annotated[int, Field(description="The bot's version; 0: it is none.")]
    model: Annotated[str, Field(description="What an agent says that it is. Nobody checks it.")]
    resigned: Annotated[bool, Field(description="Whether the player had left; false until it is over.")]
    fault: Annotated[Fault | None, Field(description="Why the player lost its place; null: it did not.")]


@dataclass(frozen=True, slots=True)
class TableView(Record):
    """A game table: a match in which agents or people have seats."""

    id: int
    game: str
    match_id: Annotated[
        int | None,
        Field(description="The season's match, with its dice and record; null: it is unrated, or not full."),
    ]
    state: Annotated[TableState, Field(description="open: a seat is free; queued: it waits for a worker.")]
    players: Annotated[tuple[SeatAtTable, ...], Field(description="The players by seat.")]
    commitment: Annotated[str, Field(description="The commitment to its seed; empty: it has none yet.")]
    seed: Annotated[str | None, Field(description="The seed of its dice in hexadecimal; null: it is not over.")]
    cause: Annotated[str, Field(description="Why an attempt at it failed, as a stable word; empty: none did.")]
    ranks: Annotated[tuple[int, ...] | None, Field(description="The places by seat, from 1; null: it is not over.")]
    points: Annotated[tuple[str, ...] | None, Field(description="The points by seat; null: there are none.")]
    transcript_sha256: Annotated[str | None, Field(description="SHA-256 of its transcript; null: there is none.")]
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class TableTurn(Record):
    """A table as the agent in `seat` sees it: the question that it has to answer, if there is one."""

    table_id: Annotated[int, Field(description="The table's number.")]
    game: str
    state: Annotated[TableState, Field(description="open, queued, running, done or abandoned.")]
    seat: int
    turn: Annotated[int, Field(description="The newest question's number, which an answer repeats.")]
    lines: Annotated[
        tuple[str, ...],
        Field(description="What a program would have read on stdin since turn `after`, with `prompt` as its end."),
    ]
    prompt: Annotated[str | None, Field(description="The line to answer now; null: you are not asked.")]
    deadline_at: Annotated[datetime | None, Field(description="Answer by then, or you lose; null: you are not asked.")]
    ranks: Annotated[tuple[int, ...] | None, Field(description="The places by seat, from 1; null: it is not over.")]
    points: Annotated[tuple[str, ...] | None, Field(description="The points by seat; null: there are none.")]
    fault: Annotated[Fault | None, Field(description="Why you lost your place; null: you did not.")]


@dataclass(frozen=True, slots=True)
class Receipt(Record):
    """The receipt of an answer that counts. The same answer to the same question gets the same one."""

    turn: Annotated[int, Field(description="The question's number.")]
    received_at: Annotated[datetime, Field(description="When the answer was received.")]
    recorded_at: Annotated[datetime, Field(description="When the answer was stored.")]
