"""Accounts, tokens, teams and their bots; announcements and the audit log."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, Text, UniqueConstraint, false
from sqlmodel import Field, SQLModel

from deadheat.league.states import ChannelKind, DeliveryState, NewcomerRule, Role, Scope, TokenKind, VersionState
from deadheat.league.tables.columns import SHA256_HEX, JobRow, UtcDateTime, apart, index_where, json_column, word
from deadheat.league.words import NoticeKind


class User(SQLModel, table=True):
    """A person or program with a name. `name_key`: the name in lower case, which is unique."""

    __tablename__ = "user_account"  # "user" is a reserved word in PostgreSQL
    __mapper_args__ = apart("password_hash")

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=32)
    name_key: str = Field(max_length=32, unique=True)
    password_hash: str | None = Field(default=None, max_length=256)  # None: signs in with tokens only
    role: Role = Field(default=Role.AUTHOR, sa_column=word(Role, "role"))
    created_at: datetime = Field(sa_type=UtcDateTime)
    closed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # nobody can sign in since then
    ban_reason: str | None = Field(default=None, max_length=1000)  # None: not banned; the owner may have closed it


class Identity(SQLModel, table=True):
    """An identity at an OpenID provider (`issuer`), known there as `subject`, which signs in to this account."""

    __table_args__ = (UniqueConstraint("issuer", "subject"), UniqueConstraint("user_id", "issuer"))

    id: int = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="user_account.id")
    issuer: str = Field(max_length=500)
    subject: str = Field(max_length=255)
    created_at: datetime = Field(sa_type=UtcDateTime)


class Newcomers(SQLModel, table=True):
    """The rule for sign-up: one row, or none while everybody may sign up. `code`: the invitation code."""

    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: int = Field(default=1, primary_key=True)
    rule: NewcomerRule = Field(sa_column=word(NewcomerRule, "newcomer_rule"))
    code: str = Field(default="", max_length=64)


class SigningKey(SQLModel, table=True):
    """The league's own key: one row, or none before its first use (`league.service.people.access.signing_key`)."""

    __tablename__ = "signing_key"

    id: int = Field(default=1, primary_key=True)
    secret: str = Field(max_length=64)


class Token(SQLModel, table=True):
    """An access token, a browser session or an agent's key. Only the secret's SHA-256 is stored: 256 random bits need
    no slow hash.
    """

    id: int = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="user_account.id", index=True)
    kind: TokenKind = Field(default=TokenKind.TOKEN, sa_column=word(TokenKind, "kind"))
    scope: Scope = Field(default=Scope.FULL, sa_column=word(Scope, "scope"))
    label: str = Field(max_length=64)  # of a key, the agent's name
    model: str = Field(default="", max_length=64, sa_column_kwargs={"server_default": ""})  # of a key
    maker_id: int | None = Field(default=None, foreign_key="token.id")  # the token that made a key, which ends with it
    address: str = Field(
        default="", max_length=64, sa_column_kwargs={"server_default": ""}
    )  # where a session began, as `api.edge.rates` counts addresses
    sha256: str = Field(max_length=SHA256_HEX, unique=True)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # to the minute


class Team(SQLModel, table=True):
    """Authors who work on bots together. The captain is one of the members."""

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=32)
    name_key: str = Field(max_length=32, unique=True)
    captain_id: int = Field(foreign_key="user_account.id")
    created_at: datetime = Field(sa_type=UtcDateTime)


class TeamMember(SQLModel, table=True):
    """A member of a team, or somebody invited to it: `joined_at` is None until the invitation is accepted."""

    __tablename__ = "team_member"

    team_id: int = Field(foreign_key="team.id", primary_key=True)
    user_id: int = Field(foreign_key="user_account.id", primary_key=True, index=True)
    invited_at: datetime = Field(sa_type=UtcDateTime)
    joined_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Notice(SQLModel, table=True):
    """A notice to one person about one event, identified by `kind` and `subject`. `about`: facts of its sentence."""

    __table_args__ = (
        UniqueConstraint("kind", "subject", "user_id"),  # nobody gets the same notice twice
        Index(None, "user_id", "id"),
        Index(None, "at"),
        index_where("ix_notice_unread", "user_id", where="read_at IS NULL"),
    )

    id: int = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="user_account.id")
    kind: NoticeKind = Field(sa_column=word(NoticeKind, "notice_kind"))
    subject: str = Field(max_length=64)
    about: dict[str, Any] = Field(sa_column=json_column())
    at: datetime = Field(sa_type=UtcDateTime)
    read_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Channel(SQLModel, table=True):
    """An address to which somebody has notices sent. `secret` signs webhooks' content or messages' links, so it is
    stored as it is. `language`: the owner's. `confirmed_at` None: nothing is sent to this address until its owner has
    followed a link.
    """

    id: int = Field(default=None, primary_key=True)
    user_id: int | None = Field(foreign_key="user_account.id", index=True)  # None: removed, once its deliveries ended
    kind: ChannelKind = Field(sa_column=word(ChannelKind, "channel_kind"))
    address: str = Field(max_length=500)
    secret: str = Field(max_length=64)
    language: str = Field(default="en", max_length=8)
    created_at: datetime = Field(sa_type=UtcDateTime)
    confirmed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    failing_since: datetime | None = Field(default=None, sa_type=UtcDateTime)  # None: the last try succeeded
    disabled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Delivery(SQLModel, table=True):
    """A notice on its way through a channel (`league.service.people.channels`). `notice_id` None: a test or a link."""

    __table_args__ = (
        UniqueConstraint("notice_id", "channel_id"),
        Index(None, "state", "due_at"),
        Index(None, "channel_id", "state"),
        CheckConstraint("(state = 'waiting') = (finished_at IS NULL)", name="finished"),
    )

    id: int = Field(default=None, primary_key=True)
    notice_id: int | None = Field(default=None, foreign_key="notice.id", ondelete="CASCADE")
    channel_id: int = Field(foreign_key="channel.id", ondelete="CASCADE")
    resets_password: bool = False
    state: DeliveryState = Field(default=DeliveryState.WAITING, sa_column=word(DeliveryState, "delivery_state"))
    tries: int = 0
    due_at: datetime = Field(sa_type=UtcDateTime)
    detail: str = Field(default="", max_length=200)
    at: datetime = Field(sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Announcement(SQLModel, table=True):
    """An organiser's announcement to everyone. `season_id` None: it concerns the whole league."""

    id: int = Field(default=None, primary_key=True)
    season_id: int | None = Field(default=None, foreign_key="season.id", index=True)
    title: str = Field(max_length=120)
    text: str = Field(sa_column=Column(Text, nullable=False))
    author: str = Field(max_length=32)
    at: datetime = Field(sa_type=UtcDateTime)


class AuditRecord(SQLModel, table=True):
    """One decision that may be questioned later, chained to the record before (see `league.service.ground.audit`).

    The unique `prev_sha256` makes a fork of the chain impossible; triggers refuse UPDATE and DELETE.
    """

    __tablename__ = "audit_log"

    id: int = Field(default=None, primary_key=True)
    at: str = Field(max_length=40)  # ISO 8601, exactly as hashed
    actor: str = Field(max_length=32, index=True)
    action: str = Field(max_length=64, index=True)
    subject: str = Field(max_length=128, index=True)
    data: str = Field(sa_column=Column(Text, nullable=False))  # canonical JSON, exactly as hashed
    prev_sha256: str = Field(max_length=SHA256_HEX, unique=True)
    sha256: str = Field(max_length=SHA256_HEX, unique=True)


class Bot(SQLModel, table=True):
    """An author's entry over time. One of its versions plays. All members of a team share its bots.

    `is_agent`: it plays over HTTP, in seasons of agents only. Each model that it has said to be is a version without a
    program, whose source is that word (`league.service.tables.rated`).
    """

    __table_args__ = (
        UniqueConstraint("owner_id", "game", "name_key"),
        Index(None, "team_id", "game", "name_key", unique=True),
    )

    id: int = Field(default=None, primary_key=True)
    owner_id: int = Field(foreign_key="user_account.id")  # who made it
    team_id: int | None = Field(default=None, foreign_key="team.id")
    plays_people: bool = True  # the author lets people play against it
    is_agent: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
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
        CheckConstraint("language = 'agent' OR (state = 'ready') = (program_sha256 IS NOT NULL)", name="program"),
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
    lendable: bool = Field(default=False, sa_column_kwargs={"server_default": false()})  # may play on lent machines
    created_at: datetime = Field(sa_type=UtcDateTime)

    state: VersionState = Field(default=VersionState.UPLOADED, sa_column=word(VersionState, "state"))
    built_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    program_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    trial_sha256: str | None = Field(default=None, max_length=SHA256_HEX)  # transcript of its qualification match
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))  # why it is broken
    log: str = Field(default="", sa_column=Column(Text, nullable=False))  # for the author only
