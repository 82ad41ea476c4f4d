"""The shapes of bots, versions and builds."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from deadheat.api.schemas.base import Input, Items, Name, RowId
from deadheat.engine.games import GAMES
from deadheat.league.records.entries import PanelResult

Description = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=500),
    Field(description="For people, at most 500 characters.", examples=["Greedy, with a table of all endings."]),
]


class BotRequest(Input):
    """A new bot."""

    game: str = Field(max_length=64, examples=[next(iter(GAMES))], json_schema_extra={"enum": [*sorted(GAMES)]})
    name: Name = Field(examples=["greedy"])
    team_id: RowId | None = Field(default=None, description="One of your teams, whose members then share the bot.")


class BotChange(Input):
    """Changes to a bot."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    team_id: RowId | None = Field(default=None, description="null: it belongs to its creator alone.")
    name: Name = Field(default="", examples=["greedy"])
    description: Description = ""
    retired: bool = Field(default=False, description="true: it leaves its seasons and the lists; results stay.")
    plays_people: bool = Field(default=True, description="Whether people may play against it.")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "Give at least one field to change.")
        return self


class Panels(Items[PanelResult]):
    """The newest first."""
