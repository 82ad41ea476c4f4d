"""The shapes of accounts, tokens and teams."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import (
    Field,
    StringConstraints,
)

from api.schemas.base import Input, Label, Name, Output
from league.states import (
    Role,
    Scope,
)

Password = Annotated[str, StringConstraints(min_length=10, max_length=256)]

TokenDays = Annotated[int, Field(ge=1, le=3650)]


class SignUp(Input):
    """A new author."""

    name: Name
    password: Password = Field(examples=["correct horse battery staple"])
    code: str = Field(default="", max_length=64, description="The invitation code, where signing up needs one.")


class User(Output):
    """Somebody."""

    id: int
    name: str = Field(examples=["ada"])
    role: Role


class TokenRequest(Input):
    """Asks for a token by name and password."""

    name: Name
    password: Annotated[str, StringConstraints(max_length=256)]
    label: Label = Field(default="token", description="To tell tokens apart later.", examples=["laptop"])
    scope: Scope = Field(
        default=Scope.FULL,
        description="`read`, `submit` (make bots, upload, enter seasons: for an author's CI), `author` (all of an "
        "author's own affairs), `full` (organising too, where one may).",
    )
    days: TokenDays | None = Field(
        default=None, description="Until it expires; null, or more than the deployment allows: as long as that."
    )


class NewToken(Output):
    """A token; the secret is shown this once."""

    id: int
    token: str = Field(examples=["dh_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgdG9rZW4"])
    scope: Scope
    expires_at: datetime


class Token(Output):
    """A token without its secret."""

    id: int
    label: str
    scope: Scope
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class Tokens(Output):
    """All of one's own."""

    items: list[Token]


class TeamRequest(Input):
    """A new team, or somebody's name."""

    name: Name = Field(examples=["lovelace"])


class TeamChange(Input):
    """Who is to lead it."""

    captain: Name = Field(examples=["ada"])


class Team(Output):
    """Authors who share bots. `invited` is told to those who are in it or invited."""

    id: int
    name: str = Field(examples=["lovelace"])
    captain: str = Field(examples=["ada"])
    members: list[str]
    invited: list[str]
    created_at: datetime


class Teams(Output):
    """Those that one is in or invited to."""

    items: list[Team]
