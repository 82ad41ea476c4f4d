"""Bots and their versions."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from deadheat.league.states import VersionState
from deadheat.league.tables.columns import SHA256_HEX, JobRow, UtcDateTime, index_where, word


class Bot(SQLModel, table=True):
    """An author's entry over time. One of its versions plays. All members of a team share its bots."""

    __table_args__ = (
        UniqueConstraint("owner_id", "game", "name_key"),
        Index(None, "team_id", "game", "name_key", unique=True),
    )

    id: int = Field(default=None, primary_key=True)
    owner_id: int = Field(foreign_key="user_account.id")  # who made it
    team_id: int | None = Field(default=None, foreign_key="team.id")
    plays_people: bool = True  # the author lets people play against it
    game: str = Field(max_length=64)
    name: str = Field(max_length=32)
    name_key: str = Field(max_length=32)
    description: str = Field(default="", sa_column=Column(Text, nullable=False))
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)


class BotVersion(JobRow, table=True):
    """One upload. Its content never changes, only its state."""

    __tablename__ = "bot_version"
    __table_args__ = (
        UniqueConstraint("bot_id", "number"),
        UniqueConstraint("id", "bot_id"),  # so that an entry can refer to a version together with its bot
        CheckConstraint("(state = 'building') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint("(state = 'ready') = (program_sha256 IS NOT NULL)", name="program"),
        CheckConstraint("attempt >= 0", name="attempt"),
        Index(None, "state", "nudge_at"),
        Index(None, "state", "lease_until"),
        Index(None, "uploader_id", "created_at"),
        index_where("ix_bot_version_enters_id", "enters_id", where="enters_id IS NOT NULL"),
    )

    bot_id: int = Field(foreign_key="bot.id")
    uploader_id: int | None = Field(default=None, foreign_key="user_account.id")  # None: before there were teams
    number: int
    filename: str = Field(max_length=128)
    size_bytes: int
    source_sha256: str = Field(max_length=SHA256_HEX)
    language: str = Field(max_length=32)
    entry: str = Field(default="", max_length=256)
    enters_id: int | None = Field(default=None, foreign_key="season.id")  # what it enters when it is ready
    created_at: datetime = Field(sa_type=UtcDateTime)

    state: VersionState = Field(default=VersionState.UPLOADED, sa_column=word(VersionState, "state"))
    built_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    program_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    trial_sha256: str | None = Field(default=None, max_length=SHA256_HEX)  # transcript of its qualification match
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))  # why it is broken
    log: str = Field(default="", sa_column=Column(Text, nullable=False))  # for the author only
