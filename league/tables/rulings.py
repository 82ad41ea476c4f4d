"""People's decisions about matches."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, Text
from sqlmodel import Field, SQLModel

from deadheat.league.states import AppealState
from deadheat.league.tables.columns import UtcDateTime, json_column, word


class VoidedMatch(SQLModel, table=True):
    """A finished match that an organiser removed from the log of results. Restoring the match removes the row.

    `rejudged_id`: the match with the same versions and seats that replaces it, if any; it may also replace an abandoned
    match, which never counted.
    """

    __tablename__ = "voided_match"

    match_id: int = Field(foreign_key="match.id", primary_key=True)
    season_id: int = Field(foreign_key="season.id", index=True)
    rejudged_id: int | None = Field(default=None, foreign_key="match.id", unique=True)
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(sa_type=UtcDateTime)


class Appeal(SQLModel, table=True):
    """An author's complaint about a match, the findings of its re-simulation, and the organiser's ruling.

    `open_key` names the match and the bot while the appeal is open, so at most one is.
    """

    __table_args__ = (
        CheckConstraint("(state = 'open') = (ruled_at IS NULL)", name="ruled"),
        CheckConstraint("(state = 'open') = (open_key IS NOT NULL)", name="open"),
        Index(None, "season_id", "state"),
    )

    id: int = Field(default=None, primary_key=True)
    match_id: int = Field(foreign_key="match.id", index=True)
    season_id: int = Field(foreign_key="season.id")
    bot_id: int = Field(foreign_key="bot.id", index=True)
    state: AppealState = Field(default=AppealState.OPEN, sa_column=word(AppealState, "state"))
    open_key: str | None = Field(default=None, max_length=32, unique=True)
    text: str = Field(sa_column=Column(Text, nullable=False))
    findings: dict[str, Any] = Field(sa_column=json_column())
    opened_at: datetime = Field(sa_type=UtcDateTime)
    ruled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ruled_by: str = Field(default="", max_length=32)
    ruling: str = Field(default="", sa_column=Column(Text, nullable=False))
