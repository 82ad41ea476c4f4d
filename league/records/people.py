"""Records of accounts, tokens and teams."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import Role, Scope
from deadheat.league.words import NoticeKind


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
