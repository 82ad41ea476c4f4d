"""Records of versions' results against a season's panel."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import ChallengeState


@dataclass(frozen=True, slots=True)
class PanelOpponent:
    """A bot of the panel, and how the version has fared against it."""

    bot_id: int
    bot: str
    author: str
    version: int
    points: Annotated[float, Field(description="Win 1, draw 1/2, loss or fault 0.")]
    wins: int
    draws: int
    losses: int
    faults: Annotated[int, Field(description="Matches that the version lost by its own fault.")]
    match_ids: list[int]


@dataclass(frozen=True, slots=True)
class PanelResult(Record):
    """A version's results against a season's panel, whose bots it plays as soon as it is ready."""

    id: int
    season_id: int
    season: str
    bot_id: int
    version: int
    state: Annotated[
        ChallengeState, Field(description="passed: it has enough points, or needs none; failed: it has too few.")
    ]
    waits: Annotated[bool, Field(description="Whether another version of the bot plays the panel first.")]
    plays: Annotated[bool, Field(description="Whether it is the version that plays for its bot now.")]
    points: Annotated[float, Field(description="The points so far.")]
    most: Annotated[int, Field(description="The most points that it can get.")]
    minimum: Annotated[float | None, Field(description="The points that it needs to play for its bot; null: none.")]
    elo: Annotated[
        float | None, Field(description="Its estimated performance, by these matches alone; null: before the first.")
    ]
    low: Annotated[float | None, Field(description="The lower end of its 95 % interval.")]
    high: float | None
    reason: Annotated[str, Field(description="Why it ended without a verdict; empty: it did not.")]
    opponents: list[PanelOpponent]
    created_at: datetime
    ended_at: datetime | None

    @property
    def score(self) -> str:
        """The points in words."""
        needed = "" if self.minimum is None else f", {self.minimum:g} needed"
        return f"{self.points:g} of {self.most} points{needed}"

    @property
    def performance(self) -> str:
        """The estimated performance in words, with half its interval; empty before the first match."""
        if self.elo is None or self.low is None or self.high is None:
            return ""
        return f"{self.elo:.0f} ± {(self.high - self.low) / 2:.0f}"
