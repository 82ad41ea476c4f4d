"""Game tables: matches in which people or agents have seats, and their seats."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, LargeBinary, Text
from sqlmodel import Field, SQLModel

from deadheat.engine.core import Fault
from deadheat.league.states import SeatKind, TableState
from deadheat.league.tables.columns import MOST_WORD, SHA256_HEX, JobRow, UtcDateTime, index_where, json_column, word


class GameTable(JobRow, table=True):
    """A match in which people or agents have seats (see `league.service.tables`). If programs have other seats, it is
    a job of a worker.

    `season_id`: the season of agents in which it counts; None: it counts nowhere. `match_id`: the season's match that
    is played here, once all seats are taken (`league.service.tables.rated`).

    `open_place`: of the deployment's places for matches with programs, while anybody else sits there; who resigns is
    free at once, while a worker may still write the record. `turn` counts the steps that asked people or agents.
    `pace_seconds`: the time for a move; None: `exhibition_move_seconds`. `watched_at`: when the site, through which
    they answer, last reported that it is there. `absences`: when it was last not, in seconds since 1970; whoever was
    asked has been given that time. `nudge_at`, while a seat is open: when the house's bots take it. `advise_at`: after
    the match, when a worker is to be asked for advice on it (see `league.service.tables.advising`).
    """

    __tablename__ = "game_table"
    __table_args__ = (
        CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint("open_place IS NULL OR state IN ('queued', 'running')", name="open_place"),
        CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name="transcript"),
        CheckConstraint("seats >= 2", name="seats"),
        Index(None, "state", "nudge_at"),
        Index(None, "finished_at"),
        Index(None, "advise_at"),
        index_where("ix_game_table_season_id", "season_id", "created_at", where="season_id IS NOT NULL"),
    )

    game: str = Field(max_length=64)
    season_id: int | None = Field(default=None, foreign_key="season.id")
    match_id: int | None = Field(default=None, foreign_key="match.id")
    variant: list[str] | None = Field(default=None, sa_column=json_column(nullable=True))  # see league.terms
    seats: int
    seed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    commitment: str = Field(max_length=SHA256_HEX)
    state: TableState = Field(default=TableState.QUEUED, sa_column=word(TableState, "state"))
    open_place: int | None = Field(default=None, unique=True)
    pace_seconds: float | None = None

    failures: int = 0  # failed attempts, without those handed back in order

    replies: str = Field(default="[]", sa_column=Column(Text, nullable=False))  # see engine.unfinished.write_replies
    turn: int = 0
    watched_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    absences: list[Any] = Field(default_factory=list, sa_column=json_column(server_default="[]"))
    waits_since_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # for a slot; None: it does not
    voids: int = 0  # how often a failure of the service restarted it
    cause: str = Field(default="", max_length=MOST_WORD)  # of the last failure

    ranks: list[int] | None = Field(default=None, sa_column=json_column(nullable=True))
    points: list[str] | None = Field(default=None, sa_column=json_column(nullable=True))
    transcript_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    advise_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    advice_tries: int = 0
    advice_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class TableSeat(SQLModel, table=True):
    """A seat of a game table: a person's, an agent's (`user_id` is its owner, `model` what it says that it is), or a
    program's. An agent's seat without an owner is free. `entrant_id`: the version as which an agent is rated.

    `open_user_id` is set while a person sits there: one match each. `reply`: the answer to the present step, as in
    `GameTable.replies`, until all that were asked have answered. `ready_at`: since when a person or an agent is asked;
    `delivered_at`: since when they know. `turns`: the stamps of an agent's answers (see `Stamps`).
    """

    __tablename__ = "table_seat"
    __table_args__ = (
        CheckConstraint("(kind = 'program') = (version_id IS NOT NULL)", name="program"),
        CheckConstraint("kind = 'agent' OR (kind = 'person') = (user_id IS NOT NULL)", name="user"),
        CheckConstraint("seat >= 0", name="seat"),
        Index(None, "user_id", "table_id"),
    )

    table_id: int = Field(foreign_key="game_table.id", primary_key=True)
    seat: int = Field(primary_key=True)
    kind: SeatKind = Field(sa_column=word(SeatKind, "kind"))
    user_id: int | None = Field(default=None, foreign_key="user_account.id")
    version_id: int | None = Field(default=None, foreign_key="bot_version.id", index=True)
    entrant_id: int | None = Field(default=None, foreign_key="bot_version.id")
    name: str | None = Field(default=None, max_length=64)  # an agent's
    model: str = Field(default="", max_length=64)
    open_user_id: int | None = Field(default=None, unique=True)
    resigned: bool = False
    reply: str | None = Field(default=None, sa_column=Column(Text))
    ready_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    delivered_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    refusals: int = 0  # answers to the present step that the rules refused
    refused: str | None = Field(default=None, sa_column=Column(Text))  # the last of them, until it is sent again
    turns: list[Any] = Field(default_factory=list, sa_column=json_column(server_default="[]"))
    fault: Fault | None = Field(default=None, sa_column=word(Fault, "fault", nullable=True))
