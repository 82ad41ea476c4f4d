"""What is told of a ranking: its lines, and what else was computed with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from league.records import Record


@dataclass(frozen=True, slots=True)
class Unranked(Record):
    """A version that is nobody's active one, but has games: an earlier one of its bot, or one of a bot that left."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version_id: int
    version: int
    language: str
    elo: float
    se: Annotated[float, Field(description="Standard error of the distance to the field.")]
    low: Annotated[float, Field(description="The 95 % interval.")]
    high: float
    season_elo: Annotated[
        float | None,
        Field(
            description="Where `elo` follows from the finals alone: from all matches of the season, on "
            "everybody's scale."
        ),
    ]
    season_se: float | None
    plackett_luce: Annotated[
        float | None, Field(description="By the other model; null where all tables have two seats.")
    ]
    parent_id: Annotated[int | None, Field(description="The version before it, around which it is thought to be.")]
    prior_elo: Annotated[
        float | None, Field(description="What the season before left of it; null: it began as a newcomer.")
    ]
    prior_sd: Annotated[
        float | None,
        Field(description="Its deviation; with a parent, null but for a version that passed a promotion gate."),
    ]
    games: int
    bot_games: Annotated[int, Field(description="With those of the bot's other versions.")]
    wins: Annotated[int, Field(description="Over the others at each table; where wins are ranked, tables won.")]
    draws: int
    losses: int
    timeouts: int
    other_faults: int


@dataclass(frozen=True, slots=True)
class Standing(Unranked):
    """One line of the leaderboard: a bot by its active version. Ratings are on the Elo scale."""

    rank: Annotated[
        int | None,
        Field(
            description="Within its division; equal for ratings that are equal in whole Elo; null: it has not played."
        ),
    ]
    tied: bool
    rank_low: Annotated[int | None, Field(description="The better end of the 95 % interval of its place.")]
    rank_high: int | None
    gap_se: Annotated[float | None, Field(description="Standard error of the distance to the next place.")]
    division: int
    finalist: Annotated[bool, Field(description="Finalists come before all others of their division.")]


@dataclass(frozen=True, slots=True)
class RatingFit(Record):
    """How well one number for each bot describes the results."""

    chi2_per_dof: Annotated[float | None, Field(description="Near 1 if it does; well above if some bots suit others.")]
    degrees: int
    dispersion: Annotated[float, Field(description="Variance of results over that without draws.")]
    cyclic_share: Annotated[
        float | None, Field(description="Of the triads: rock, paper, scissors. Coins make a quarter.")
    ]
    triads: int


@dataclass(frozen=True, slots=True)
class SeatEffect(Record):
    """Elo that each seat adds at tables of this size, by seat."""

    seats: int
    tables: int
    elo: list[float]
    se_elo: list[float]


@dataclass(frozen=True, slots=True)
class PairTable(Record):
    """Results of the first of the ranking: of `games[i][j]` against j, i won `points[i][j]`, draws as halves."""

    version_ids: list[int]
    games: list[list[int]]
    points: list[list[float]]


@dataclass(frozen=True, slots=True)
class Totals(Record):
    """Over the whole season, at the time of the ranking."""

    rated: int
    matches: int
    abandoned: int
    voids: int
    timeouts: int
    other_faults: int
    causes: Annotated[dict[str, int], Field(description="Why attempts at matches were void.")] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class LimitUse(Record):
    """`p99`: what 99 of 100 answers used of their limit at most."""

    p99: float | None
    bars: Annotated[
        list[int],
        Field(description="How the answers spread: up to 1/1024 of the limit, 1/512, ... 1, above; the fullest is 9."),
    ]


@dataclass(frozen=True, slots=True)
class Leaderboard(Record):
    """A ranking as it was computed; `log_sha256` names the log it follows from. `final`: published for good."""

    season_id: int
    snapshot_id: int | None
    final: bool
    created_at: datetime | None
    log_sha256: str | None
    config: dict[str, Any]
    rows: list[Standing]
    unranked: list[Unranked]
    totals: Totals | None
    fit: RatingFit | None
    seats: list[SeatEffect]
    pairs: PairTable | None
    latency: Annotated[
        dict[str, LimitUse],
        Field(description="By version: response times as shares of their limits."),
    ] = field(default_factory=dict)
    rules: Annotated[tuple[int, ...], Field(description="Versions of the game's rules under which it was played.")] = ()
