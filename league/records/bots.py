"""Records of people and teams, and of their bots, versions and builds."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import Role, Scope, TokenKind, VersionState
from deadheat.league.words import NoticeKind


@dataclass(frozen=True, slots=True)
class Bot(Record):
    """A bot. If it belongs to a team, all members share it."""

    id: int
    game: str
    name: Annotated[str, Field(examples=["greedy"])]
    author: Annotated[str, Field(examples=["ada"])]
    team_id: int | None
    team: Annotated[str | None, Field(examples=["lovelace"])]
    plays_people: Annotated[
        bool, Field(description="Whether people may play against the version that plays in a season.")
    ]
    versions: int
    description: str
    retired_at: Annotated[datetime | None, Field(description="When its author retired it; null: it is not retired.")]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Version(Record):
    """One upload and its state; poll it until it is `ready` or `broken`."""

    id: int
    bot_id: int
    number: int
    state: VersionState
    filename: Annotated[str, Field(examples=["bot.py"])]
    size_bytes: int
    sha256: str
    language: Annotated[str, Field(examples=["python"])]
    entry: Annotated[str, Field(examples=["main.py"])]
    reason: Annotated[str, Field(description="Why it is broken, or which failure of the service will be retried.")]
    attempt: Annotated[
        int, Field(description="How often a worker took it; more than one means that the service failed before.")
    ]
    created_at: datetime
    built_at: datetime | None
    lendable: Annotated[bool, Field(description="Whether it may play on lent machines, whose owners can read it.")] = (
        False
    )

    @property
    def ended(self) -> bool:
        """Whether it is final."""
        return self.state in {VersionState.READY, VersionState.BROKEN}


TRIAL = "--- trial match"
"""The beginning of the line of a build's log after which the version is tried."""


@dataclass(frozen=True, slots=True)
class BuildTry(Record):
    """A build attempt that the service failed."""

    at: datetime
    cause: str
    detail: str


@dataclass(frozen=True, slots=True)
class BuildLog(Record):
    """A build's log, for the author only."""

    log: str
    tries: list[BuildTry]


@dataclass(frozen=True, slots=True)
class User(Record):
    """A user."""

    id: int
    name: Annotated[str, Field(examples=["ada"])]
    role: Role


@dataclass(frozen=True, slots=True)
class NewToken(Record):
    """A new token; its secret is shown only once."""

    id: int
    token: Annotated[str, Field(examples=["dh_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgdG9rZW4"])]
    scope: Scope
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Token(Record):
    """A token without its secret."""

    id: int
    kind: Annotated[TokenKind, Field(description="`agent`: a key, which opens `/api` and `/ws` whatever its scope.")]
    label: str
    scope: Scope
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: Annotated[datetime | None, Field(description="To the minute.")]


@dataclass(frozen=True, slots=True)
class Notice(Record):
    """A notice about an event that concerns you."""

    id: int
    kind: NoticeKind
    text: Annotated[str, Field(examples=["Version 3 of swift is ready."])]
    path: Annotated[str, Field(description="The page about it.", examples=["/bots/7/versions/3"])]
    about: Annotated[dict[str, str | int], Field(description="The facts in the text, for programs.")]
    at: datetime
    read_at: Annotated[datetime | None, Field(description="Null: unread.")]


@dataclass(frozen=True, slots=True)
class Team(Record):
    """Authors who share bots. Only members and invited authors see `invited`."""

    id: int
    name: Annotated[str, Field(examples=["lovelace"])]
    captain: Annotated[str, Field(examples=["ada"])]
    members: tuple[str, ...]
    invited: tuple[str, ...]
    created_at: datetime
