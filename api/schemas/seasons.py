"""The shapes of seasons."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from deadheat.api.schemas.base import Input, Items, RowId
from deadheat.engine.games import GAMES
from deadheat.league.season_file import MAX_CHARACTERS
from deadheat.league.states import SeasonState
from deadheat.league.terms import MAX_DIVISIONS, DivisionName, DivisionSize, SeasonName, Terms

Bots = Annotated[int, Field(ge=2, le=100_000)]


class DivisionRequest(Input):
    """A part of the field."""

    name: DivisionName = Field(examples=["First"])
    size: DivisionSize | None = Field(default=None, description="Maximum number of entries; null: unlimited.")


class SeasonRequest(Terms, Input):
    """A new season. With `previous_id` it continues that one and copies its settings, divisions and entries."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in (("game", "string"), ("previous_id", "integer"))
            ],
            "examples": [{"name": "Winter 2026", "game": next(iter(GAMES))}],
        }
    )

    name: SeasonName = Field(examples=["Winter 2026"])
    game: str | None = Field(default=None, max_length=64)
    previous_id: RowId | None = Field(default=None, description="A closed season whose standings are published.")
    divisions: list[DivisionRequest] = Field(
        default=[], max_length=MAX_DIVISIONS, description="Highest first; empty: a single one of any size."
    )

    @model_validator(mode="after")
    def _has_a_game(self) -> Self:
        if self.game is None and self.previous_id is None:
            raise ValueError("a season needs a game, or a season to continue")
        return self


class SeasonChange(Terms, Input):
    """Changes to the state, the settings, or both (settings first)."""

    name: SeasonName | None = None
    state: SeasonState | None = None
    divisions: list[DivisionRequest] | None = Field(
        default=None,
        max_length=MAX_DIVISIONS,
        description="Highest first; empty: a single one. They are fixed once the season opens.",
    )
    force: bool = Field(default=False, description="Close it even if something in it is open.")


class ArchiveRequest(Input):
    """The hash of a season's archive."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class SeasonFileRequest(Input):
    """A season's file, as text."""

    document: str = Field(max_length=MAX_CHARACTERS, description="TOML (docs/organisers.md).")
    preview: bool = Field(default=False, description="Check it and say what would change, but change nothing.")
    bots: Bots | None = Field(default=None, description="With `preview`: how many bots the forecast assumes.")


class Invited(Items[str]):
    """Authors invited to a season."""
