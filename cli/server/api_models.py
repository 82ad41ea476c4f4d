"""What the API answers about seasons, as this client reads it; all else are the league's records (`league.records`).

tests/cli/test_api_models.py holds every field here to the server's OpenAPI document. Fields that are not listed are
kept, so an older client still hands all of an answer on as JSON.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """One JSON object of the API."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @property
    def said(self) -> dict[str, Any]:
        """The JSON object that it was read from."""
        return self.model_dump(mode="json")


class Division(Answer):
    """A part of a season's field; 1 is the highest."""

    number: int
    name: str
    size: int | None
    entries: int


class Season(Answer):
    """A season; its settings are among the other fields."""

    id: int
    game: str
    name: str
    state: str
    opens_at: datetime | None
    freezes_at: datetime | None
    finals_at: datetime | None
    closes_at: datetime | None
    finals_done_at: datetime | None
    seats: int
    rounded: str
    divisions: list[Division]
    published_at: datetime | None
    log_sha256: str | None
    dice_commitment: str | None
    dice_secret: str | None


class Progress(Answer):
    """How far a season is."""

    entries: int
    scheduled: int
    done: int
    counting: int
    held: int
    abandoned: int
    voids: int


class FinalsProgress(Answer):
    """How far the finals of a division are."""

    division: int
    finalists: int
    round: int
    rounds: int
    finished: int
    series: int
    extra_games: int
    extra_left: int


class SeasonDetail(Season):
    """A season with its progress."""

    progress: Progress
    waits_for: list[str]
    finals_progress: list[FinalsProgress]
