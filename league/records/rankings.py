"""Records of a ranking: its rows, what else was computed with it, and sentences about those figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from deadheat.engine.language import N_, gettext
from deadheat.league.records import Record
from deadheat.league.states import Ranks


@dataclass(frozen=True, slots=True)
class Unranked(Record):
    """An inactive version with games: an earlier one of its bot, or one of a bot that left."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version_id: int
    version: int
    language: str
    elo: float
    se: Annotated[float, Field(description="Standard error of the distance to the field.")]
    low: Annotated[float, Field(description="The lower end of the 95 % interval.")]
    high: float
    season_elo: Annotated[
        float | None,
        Field(
            description="If `elo` follows from the finals alone: the rating by all matches of the season, "
            "on the common scale."
        ),
    ]
    season_se: float | None
    plackett_luce: Annotated[
        float | None, Field(description="Rating by the second model; null if all tables have two seats.")
    ]
    parent_id: Annotated[int | None, Field(description="The previous version, on which the prior is centred.")]
    prior_elo: Annotated[
        float | None, Field(description="Its prior from the previous season; null: it began as a newcomer.")
    ]
    prior_sd: Annotated[
        float | None,
        Field(description="Its prior's standard deviation; with a parent, null unless it passed a promotion gate."),
    ]
    games: int
    bot_games: Annotated[int, Field(description="Games of all versions of the bot.")]
    wins: Annotated[int, Field(description="Against the others at each table; if wins are ranked, tables won.")]
    draws: int
    losses: int
    timeouts: int
    other_faults: int


@dataclass(frozen=True, slots=True)
class Standing(Unranked):
    """One row of the leaderboard: a bot with its active version. Ratings are on the Elo scale."""

    rank: Annotated[
        int | None,
        Field(
            description="Place within its division, shared if ratings are equal in whole Elo; null: it has not played."
        ),
    ]
    tied: bool
    rank_low: Annotated[int | None, Field(description="The better end of the 95 % interval of its place.")]
    rank_high: int | None
    gap_se: Annotated[float | None, Field(description="Standard error of the distance to the next place.")]
    division: int
    finalist: Annotated[bool, Field(description="Finalists rank above all others of their division.")]
    finals_place: Annotated[
        int | None,
        Field(description="Its place after the stages of the finals, which then decides its rank; null: it has none."),
    ] = None


@dataclass(frozen=True, slots=True)
class RatingFit(Record):
    """How well one number per bot describes the results."""

    chi2_per_dof: Annotated[
        float | None,
        Field(description="Near 1 if it describes them well; well above 1 if results depend on who meets whom."),
    ]
    degrees: int
    dispersion: Annotated[float, Field(description="Variance of the results relative to results without draws.")]
    cyclic_share: Annotated[
        float | None, Field(description="Share of cyclic triads (rock, paper, scissors); coin tosses give a quarter.")
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
    """Results among the top bots: i took `points[i][j]` from `games[i][j]` games against j; a draw is half a point."""

    version_ids: list[int]
    games: list[list[int]]
    points: list[list[float]]


@dataclass(frozen=True, slots=True)
class Totals(Record):
    """Totals of the whole season at the time of the ranking."""

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
    """`p99`: share of the limit within which 99 % of the answers came."""

    p99: float | None
    bars: Annotated[
        list[int],
        Field(
            description="Histogram of the answers: up to 1/1024 of the limit, 1/512, ... 1, above; the tallest is 9."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Leaderboard(Record):
    """A ranking as it was computed; `log_sha256` names the log that it follows from. `final`: it is published."""

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
        Field(description="Response times by version, as shares of their limits."),
    ] = field(default_factory=dict)
    leads: Annotated[
        dict[str, int],
        Field(
            description="By version: how many results of it and of the next may be wrong, and it would still be ahead. "
            "Left out: equal places, the last, and tables of three or more."
        ),
    ] = field(default_factory=dict)
    rules: Annotated[tuple[int, ...], Field(description="Versions of the game's rules under which it was played.")] = ()


NORMAL_95 = 1.96


TALLIES = {
    Ranks.PLACEMENT: N_(
        "Wins, draws and losses count against each other bot at a table: a match of four bots adds three."
    ),
    Ranks.WINS: N_("Wins are matches won alone, draws are first places shared, losses are all the others."),
}


def tally(config: Mapping[str, Any], second: Iterable[float | None]) -> str:
    """Explain the column W / D / L if a table has three seats or more. Only then are there the ratings `second` by
    Plackett and Luce's model; with two seats, the column needs no explanation.
    """
    return gettext(TALLIES[Ranks(config["ranks"])]) if any(rating is not None for rating in second) else ""


def sentences(fit: Mapping[str, Any], seats: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the sentences about the fit and the seats. `fit` and `seats` are in the form of
    `league.ratings.quality.Fit` and `league.ratings.quality.SeatEffect`.
    """
    lines = []
    if fit["chi2_per_dof"] is not None:
        lines.append(f"Fit: chi-squared {fit['chi2_per_dof']:.2f} per degree of freedom ({fit['degrees']}).")
    if fit["cyclic_share"] is not None:
        lines.append(f"Cycles: {100 * fit['cyclic_share']:.1f} % of {fit['triads']} triads.")
    for effect in seats:
        worths = (f"{elo:+.0f} ± {NORMAL_95 * se:.0f}" for elo, se in zip(effect["elo"], effect["se_elo"], strict=True))
        lines.append(f"Seats at tables of {effect['seats']}, in Elo: {', '.join(worths)}.")
    return lines
