"""What the API answers, as this client reads it.

The client imports nothing of the server; tests/cli/test_api_models.py holds every field here to the server's OpenAPI
document. States and faults are text: a newer server may know more of them. Fields that are not listed are kept, so an
older client still hands all of an answer on as JSON.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """One JSON object of the API."""

    model_config = ConfigDict(frozen=True, extra="allow")


class User(Answer):
    """A person with an account."""

    id: int
    name: str
    role: str


class NewToken(Answer):
    """A token with its secret."""

    id: int
    token: str
    expires_at: datetime


class Bot(Answer):
    """A bot. With a team it is every member's."""

    id: int
    game: str
    name: str
    author: str
    team: str | None
    plays_people: bool
    versions: int
    description: str
    retired_at: datetime | None


class Team(Answer):
    """Authors who share bots."""

    id: int
    name: str
    captain: str
    members: list[str]
    invited: list[str]


class Version(Answer):
    """One upload and what became of it."""

    id: int
    bot_id: int
    number: int
    state: str
    filename: str
    size_bytes: int
    sha256: str
    language: str
    reason: str
    attempt: int
    built_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.state in {"ready", "broken"}


class BuildTry(Answer):
    """A try at building that failed by the server's doing."""

    at: datetime
    cause: str
    detail: str


class BuildLog(Answer):
    """What the build and the trial match printed."""

    log: str
    tries: list[BuildTry]


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


class Entry(Answer):
    """A bot in a season."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version: int
    follows: bool
    division: int
    gated: bool
    challenger: int | None
    absence: str | None
    absence_reason: str


class Waiting(Answer):
    """How long a bot waits for its next result in a season."""

    playing: int
    planned: int
    before: int
    seconds: int | None
    over: bool
    sentence: str


class Challenge(Answer):
    """A version at an entry's promotion gate."""

    candidate: int
    incumbent: int
    state: str
    wins: int
    draws: int
    losses: int
    games_limit: int
    llr: float
    lower: float
    upper: float
    reason: str


class Standing(Answer):
    """One line of a ranking; rating (on the Elo scale) and rank with their 95 % intervals; no rank: it never played."""

    rank: int | None
    tied: bool
    rank_low: int | None
    rank_high: int | None
    division: int
    bot_id: int
    bot: str
    author: str
    team: str | None
    version: int
    elo: float
    low: float
    high: float
    plackett_luce: float | None
    games: int
    wins: int
    draws: int
    losses: int
    timeouts: int
    other_faults: int


class Totals(Answer):
    """Over a whole season, at the time of its ranking."""

    matches: int
    abandoned: int
    voids: int
    timeouts: int
    other_faults: int


class Leaderboard(Answer):
    """A ranking as it was computed; `log_sha256` names the log it follows from."""

    season_id: int
    log_sha256: str | None
    config: dict[str, Any]
    rows: list[Standing]
    totals: Totals | None


class FaultView(Answer):
    """Where and why a seat failed."""

    fault: str
    command: str
    elapsed_ms: float | None
    why: str


class SeatView(Answer):
    """Who sat where, and what came of it."""

    seat: int
    bot_id: int
    bot: str
    author: str
    version: int
    rank: int | None
    points: str | None
    fault: FaultView | None


class Uncounted(Answer):
    """Why a match that is done does not count."""

    cause: str
    sentence: str
    rejudged_id: int | None


class Match(Answer):
    """One playing. `uncounted` None: it is in the log of results, or not done. `seed` and `transcript_sha256` None: it,
    or another match with its dice, is not over.
    """

    id: int
    season_id: int
    game: str
    state: str
    rated: bool
    commitment: str
    seed: str | None
    deal: int | None
    attempt: int
    transcript_sha256: str | None
    finished_at: datetime | None
    seats: list[SeatView]
    uncounted: Uncounted | None
    repeats_id: int | None

    @property
    def withheld(self) -> bool:
        """It is done, and others with its dice are not."""
        return self.state == "done" and self.seed is None


class AttemptView(Answer):
    """One try at a match: `cause` is "played", or why it is void, and `seat` then who was to answer."""

    seed_number: int | None
    machine: int | None
    cause: str
    seat: int | None
    detail: str
    finished_at: datetime


class LatencyView(Answer):
    """Response times of one seat to one command."""

    seat: int
    command: str
    limit_ns: int
    prompts: int
    mean_ns: int
    worst_ns: int


class MatchDetail(Match):
    """A match with every attempt at it and its response times. `not_played`: why it was abandoned, or empty."""

    not_played: str
    attempts: list[AttemptView]
    latencies: list[LatencyView]


class HeldMatches(Answer):
    """Matches that wait for an organiser."""

    items: list[MatchDetail]


class EndingView(Answer):
    """How one's own bot's process ended, and what it wrote to stderr."""

    seat: int
    bot: str
    version: int
    exit_code: int | None
    signal: int | None
    lingered: bool
    stderr: str


class Announcement(Answer):
    """What an organiser tells everyone."""

    id: int


class Appeal(Answer):
    """An author's doubt about a match, what re-simulating it found, and the ruling."""

    id: int
    match_id: int
    bot: str
    state: str
    text: str
    findings: dict[str, Any]
    ruling: str


class RuledOn(Answer):
    """A ruling on a match; not `changed`: it was so already."""

    match_id: int
    changed: bool


class Rejudged(Answer):
    """The match that is played in another's place."""

    match_id: int


class AuditRecord(Answer):
    """One decision; `sha256` covers the other fields and the record before it."""

    id: int
    at: str
    actor: str
    action: str
    subject: str
    data: str
    prev_sha256: str
    sha256: str


class Worker(Answer):
    """A machine that plays. `number`: what everybody else knows it by."""

    number: int
    name: str
    fitness: str
    judges: bool
    reasons: list[str]
    remarks: list[str]
    last_seen_at: datetime
    canary_at: datetime | None
    series: int
    voids: int


class Workers(Answer):
    """All machines that play matches."""

    items: list[Worker]
    judge_unfit: bool
