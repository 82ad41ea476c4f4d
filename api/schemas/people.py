"""The shapes of accounts, tokens and teams."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from deadheat.api.schemas.base import Input, Label, Name, Paged, RowId
from deadheat.league.records.bots import Notice
from deadheat.league.states import Scope

Password = Annotated[str, StringConstraints(min_length=10, max_length=256)]

TokenDays = Annotated[int, Field(ge=1, le=3650)]


class NewAuthor(Input):
    """A name for an author without a password."""

    name: Name
    code: str = Field(default="", max_length=64, description="The invitation code, if sign-up requires one.")


class SignUp(NewAuthor):
    """A new author."""

    password: Password = Field(examples=["correct horse battery staple"])


class TokenRequest(Input):
    """A request for a token, by name and password."""

    name: Name
    password: Annotated[str, StringConstraints(max_length=256)]
    label: Label = Field(default="token", description="To tell tokens apart later.", examples=["laptop"])
    scope: Scope = Field(
        default=Scope.FULL,
        description="`read`, `submit` (create bots, upload, enter seasons: for your CI), `author` (manage everything "
        "that is yours), `full` (also organise, if you are an organiser).",
    )
    days: TokenDays | None = Field(
        default=None,
        description="Days until it expires; null, or more than the deployment allows: the deployment's maximum.",
    )


class TeamRequest(Input):
    """A new team, or somebody's name."""

    name: Name = Field(examples=["lovelace"])


class TeamChange(Input):
    """The new captain."""

    captain: Name = Field(examples=["ada"])


class Inbox(Paged[Notice]):
    """A page of your notices. `unread` counts all of them, not only those of this page."""

    unread: int


class ReadRequest(Input):
    """The newest notice that was read."""

    up_to: RowId = Field(description="The id of a notice; it and all earlier ones are marked as read.")


class Unread(BaseModel):
    """How many notices are unread."""

    unread: int
