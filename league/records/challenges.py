"""Records of unrated matches at an author's request."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import ChallengeState


@dataclass(frozen=True, slots=True)
class AskedChallenge(Record):
    """Unrated games between two versions, at the request of one's author. The test, if there is one, ends when `llr`
    reaches `lower` or `upper`.
    """

    id: int
    season_id: int
    season: str
    game: str
    asker: str
    private: Annotated[bool, Field(description="Whether only the bot's owners and organisers see its matches.")]
    bot_id: int
    bot: str
    version: int
    version_id: int
    opponent_id: int
    opponent: str
    opponent_author: str
    opponent_version: int
    opponent_version_id: int
    state: ChallengeState
    games_limit: int
    games_planned: int
    wins: int
    draws: int
    losses: int
    elo0: Annotated[float | None, Field(description="Normalised Elo; null: there is no test.")]
    elo1: float | None
    llr: float | None
    lower: float | None
    upper: float | None
    reason: Annotated[str, Field(description="Why it is over; empty while it is not.")]
    created_at: datetime
    ended_at: datetime | None
    waits: Annotated[str, Field(description="What its next match waits for; empty while it plays, and when over.")] = ""

    @property
    def sides(self) -> tuple[str, str]:
        """The names of both sides, with version numbers or authors if both have the same name."""
        if self.bot != self.opponent:
            return self.bot, self.opponent
        if self.bot_id == self.opponent_id:
            return f"{self.bot} v{self.version}", f"{self.opponent} v{self.opponent_version}"
        return self.bot, f"{self.opponent} ({self.opponent_author})"
