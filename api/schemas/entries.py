"""The shapes of entries and promotion gates."""

from __future__ import annotations

from datetime import datetime

from pydantic import (
    Field,
)

from api.schemas.base import Input, Output, RowId
from league.service.seasons.gates import GateTerms
from league.states import (
    Absence,
    ChallengeState,
)

GATE = GateTerms()


class GateRequest(Input):
    """A promotion gate: new versions take over only if a sequential test finds them stronger (docs/authors.md)."""

    elo0: float = Field(default=GATE.elo0, ge=-1000, le=1000, description="Normalised Elo at which a version fails.")
    elo1: float = Field(default=GATE.elo1, ge=-1000, le=1000, description="Normalised Elo at which it passes.")
    alpha: float = Field(default=GATE.alpha, ge=0.001, lt=0.5, description="Share of wrong passes.")
    beta: float = Field(default=GATE.beta, ge=0.001, lt=0.5, description="Share of wrong failures.")
    games: int = Field(default=GATE.games, ge=2, le=100_000, description="Budget; without a verdict by then it fails.")


class EntryRequest(Input):
    """Which version is to play, and what a newer one must do before it does."""

    version: RowId | None = Field(
        default=None, description="null: the newest that is ready, and from then on each newer one once it is ready."
    )
    gate: GateRequest | None = Field(default=None, description="null: no gate; left out: as it is.")


class EntryChange(Input):
    """For organisers."""

    division: RowId


class Entry(Output):
    """A bot in a season."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version: int
    follows: bool = Field(description="Whether newer versions take over by themselves.")
    division: int
    finals_seed: int | None = Field(description="Its place in the frozen ladder, if it qualified for the finals.")
    gated: bool = Field(description="Whether newer versions must pass a promotion gate.")
    challenger: int | None = Field(description="The version at the gate now.")
    absence: Absence | None = Field(description="null: it takes part.")
    absence_reason: str = Field(description="An organiser's; empty where its author withdrew it.")


class Waiting(Output):
    """How long a bot waits for its next result in a season."""

    playing: int = Field(description="Its matches in series that are being played.")
    planned: int = Field(description="Its matches in series that wait.")
    before: int = Field(description="Matches of others that come before those, of any season.")
    seconds: int | None = Field(
        description="Until its next result: the matches ahead, each as long as its season's took within the last hour, "
        "divided by the series that are played now. null: nothing is being played, or too little has ended."
    )
    over: bool = Field(description="Whether nothing more comes by itself.")
    sentence: str = Field(description="All of it for people.")


class Challenge(Output):
    """A version at an entry's promotion gate; the test ends when `llr` reaches `lower` or `upper`."""

    id: int
    candidate: int
    incumbent: int
    state: ChallengeState
    elo0: float
    elo1: float
    wins: int
    draws: int
    losses: int
    games_limit: int
    llr: float
    lower: float
    upper: float
    reason: str
    created_at: datetime
    ended_at: datetime | None


class Challenges(Output):
    """The newest first."""

    items: list[Challenge]


class Entries(Output):
    """By bot; `next` continues the list."""

    items: list[Entry]
    next: str | None
