"""What is told of bots in seasons: their entries, how long they wait, and versions at promotion gates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from league.records import Record
from league.states import Absence, ChallengeState


@dataclass(frozen=True, slots=True)
class Entry(Record):
    """A bot in a season."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version: int
    follows: Annotated[bool, Field(description="Whether newer versions take over by themselves.")]
    division: int
    finals_seed: Annotated[
        int | None, Field(description="Its place in the frozen ladder, if it qualified for the finals.")
    ]
    gated: Annotated[bool, Field(description="Whether newer versions must pass a promotion gate.")]
    challenger: Annotated[int | None, Field(description="The version at the gate now.")]
    absence: Annotated[Absence | None, Field(description="null: it takes part.")]
    absence_reason: Annotated[str, Field(description="An organiser's; empty where its author withdrew it.")]


@dataclass(frozen=True, slots=True)
class Waiting(Record):
    """How long a bot waits for its next result in a season."""

    playing: Annotated[int, Field(description="Its matches in series that are being played.")]
    planned: Annotated[int, Field(description="Its matches in series that wait.")]
    before: Annotated[int, Field(description="Matches of others that come before those, of any season.")]
    seconds: Annotated[
        int | None,
        Field(
            description="Until its next result: the matches ahead, each as long as its season's took within the last "
            "hour, divided by the series that are played now. null: nothing is being played, or too little has ended."
        ),
    ]
    over: Annotated[bool, Field(description="Whether nothing more comes by itself.")]
    sentence: Annotated[str, Field(description="All of it for people.")]


@dataclass(frozen=True, slots=True)
class Challenge(Record):
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
