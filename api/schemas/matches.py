"""The shapes of matches."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import (
    Field,
)

from api.schemas.base import Output
from engine.core import Fault
from league.states import (
    MatchState,
)
from league.words import Uncounting


class FaultView(Output):
    """Where and why a seat failed; `elapsed_ms` is its own time."""

    fault: Fault
    command: str
    elapsed_ms: float | None
    why: str


class SeatView(Output):
    """Who sat where. `points` is a whole number or a fraction "p/q"; null where there are no honest ones."""

    seat: int
    bot_id: int
    bot: str
    author: str
    version: int
    player: str | None = Field(
        description="As its transcript names it: a bot may have been renamed since. Null before it is played."
    )
    rank: int | None
    points: str | None
    fault: FaultView | None


class Uncounted(Output):
    """Why a match that is done does not count."""

    cause: Uncounting
    sentence: str
    rejudged_id: int | None = Field(description="The match that is played in its place.")


class Match(Output):
    """One playing. The commitment, SHA-256(seed), is published from the start; seed and transcript once this match and
    all others with the same dice are over.
    """

    id: int
    season_id: int
    series_id: int
    game: str
    state: MatchState
    rated: bool
    commitment: str
    seed: str | None
    deal: int | None = Field(
        description="The seed's number among those that follow from the season's secret; null: it was drawn by itself."
    )
    attempt: int = Field(description="Which seed of the list that `seed` stands for it was played with, or is to be.")
    transcript_sha256: str | None
    created_at: datetime
    finished_at: datetime | None
    seats: list[SeatView]
    uncounted: Uncounted | None = Field(description="null: it is in the log of results, or not done.")
    repeats_id: int | None = Field(description="The match that was ruled out and in whose place this one is played.")


class Matches(Output):
    """The newest first; `next` continues the list."""

    items: list[Match]
    next: str | None


class AttemptView(Output):
    """One try: "played", or why it is void, with the evidence. `match_id` null: it befell the whole series."""

    match_id: int | None
    seed_number: int | None = Field(description="Which seed of the match's list; null: none, or from before 2026-11.")
    machine: int | None = Field(description="Its number, as in the export.")
    cause: str
    detail: str
    seat: int | None = Field(description="The seat that was to answer when it failed.")
    evidence: dict[str, Any]
    started_at: datetime | None
    finished_at: datetime


class LatencyView(Output):
    """Response times of one seat to one command: its own time, without what the host took."""

    seat: int
    command: str
    limit_ns: int
    prompts: int
    mean_ns: int
    worst_ns: int


class MatchDetail(Match):
    """A match with its ledger and its response times."""

    not_played: str = Field(description="Why it was abandoned; empty: it was not.")
    attempts: list[AttemptView]
    latencies: list[LatencyView]


class HeldMatches(Output):
    """Matches that wait for an organiser."""

    items: list[MatchDetail]


class EndingView(Output):
    """How one's own bot's process ended."""

    seat: int
    bot: str
    version: int
    exit_code: int | None
    signal: int | None
    lingered: bool
    stderr: str
    cpu_ns: int | None
    peak_memory_bytes: int | None


class Endings(Output):
    """One for each of one's own bots in the match."""

    items: list[EndingView]
