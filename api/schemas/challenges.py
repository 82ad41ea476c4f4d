"""The shapes of unrated matches that authors ask for."""

from __future__ import annotations

from pydantic import Field

from deadheat.api.schemas.base import Input, RowId


class SequentialTest(Input):
    """A sequential test in normalised Elo, as `deadheat tournament --sprt` has it: it stops the games as soon as it
    decides.
    """

    elo0: float = Field(ge=-1000, le=1000, description="The difference at which it fails.")
    elo1: float = Field(ge=-1000, le=1000, description="The difference at which it passes; above `elo0`.")
    alpha: float = Field(default=0.05, ge=0.001, lt=0.5, description="Share of wrong passes.")
    beta: float = Field(default=0.05, ge=0.001, lt=0.5, description="Share of wrong failures.")


class ChallengeRequest(Input):
    """A request for unrated matches of your version against another bot."""

    season_id: RowId
    bot_id: RowId
    opponent_id: RowId = Field(description="A bot that plays in the season, or one of yours.")
    games: int = Field(ge=1, le=100_000, description="Matches; with `test`, at most this many.")
    version: RowId | None = Field(default=None, description="null: the newest ready one.")
    opponent_version: RowId | None = Field(
        default=None, description="Only for your own bot; null: the version that plays in the season."
    )
    test: SequentialTest | None = Field(default=None, description="null: all games are played.")
    private: bool = Field(default=False, description="Only your bot's owners and organisers see the matches.")
