"""The shapes of bots, versions and builds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import (
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from api.schemas.base import Input, Name, Output, RowId
from engine.games import GAMES
from league.states import (
    VersionState,
)

Description = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=500),
    Field(description="For people, at most 500 characters.", examples=["Greedy, with a table of all endings."]),
]


class BotRequest(Input):
    """A new bot."""

    game: str = Field(max_length=64, examples=["yacht-auction"], json_schema_extra={"enum": [*sorted(GAMES)]})
    name: Name = Field(examples=["greedy"])
    team_id: RowId | None = Field(default=None, description="A team one is in: the bot is then every member's.")


class BotChange(Input):
    """What is to change of a bot."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    team_id: RowId | None = Field(default=None, description="null: nobody's but its maker's.")
    name: Name = Field(default="", examples=["greedy"])
    description: Description = ""
    retired: bool = Field(default=False, description="Whether it leaves its seasons, and the lists; results stay.")
    plays_people: bool = Field(default=True, description="Whether people may play against it.")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "Say what is to change.")
        return self


class Bot(Output):
    """A bot. With a team it is every member's, whoever made it."""

    id: int
    game: str = Field(examples=["yacht-auction"])
    name: str = Field(examples=["greedy"])
    author: str = Field(examples=["ada"])
    team_id: int | None
    team: str | None = Field(examples=["lovelace"])
    plays_people: bool = Field(description="Whether people may play against it, with a version that plays in a season.")
    versions: int
    description: str
    retired_at: datetime | None = Field(description="Since when its author has retired it; null: it is not.")
    created_at: datetime


class Bots(Output):
    """A list of bots."""

    items: list[Bot]


class Version(Output):
    """One upload and what became of it; poll it until it is `ready` or `broken`."""

    id: int
    bot_id: int
    number: int
    state: VersionState
    filename: str = Field(examples=["bot.py"])
    size_bytes: int
    sha256: str
    language: str = Field(examples=["python"])
    entry: str = Field(examples=["main.py"])
    reason: str = Field(description="Why it is broken, or what we failed at before it is tried again.")
    attempt: int = Field(description="How often a worker took it; more than one means that we failed before.")
    created_at: datetime
    built_at: datetime | None


class Versions(Output):
    """The newest first."""

    items: list[Version]


class BuildTry(Output):
    """A try at building that failed by our doing."""

    at: datetime
    cause: str
    detail: str


class BuildLog(Output):
    """For the author only."""

    log: str
    tries: list[BuildTry]
