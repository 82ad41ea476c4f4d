"""Records of contests: evaluations with their standings and pairings, and all else that bots play beside the ladder."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.engine.figures import counted
from deadheat.league.pairing.figures import (
    EARLY_POINTS,
    OPPONENTS_EARLY_POINTS,
    OPPONENTS_POINTS,
    ROUNDS_WON,
    SONNEBORN_BERGER,
)
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.records import Record
from deadheat.league.records.entries import PanelOpponent
from deadheat.league.states import ContestKind, ContestState, EvaluationState


@dataclass(frozen=True, slots=True, kw_only=True)
class Played(Record):
    """The fields that evaluations and all other contests have in common."""

    id: int
    season_id: int
    season: str
    game: str
    seats: Annotated[int, Field(description="Of a table.")]
    name: str
    rounds: int
    matches: Annotated[int, Field(description="Matches per meeting.")]
    rated: Annotated[bool, Field(description="Whether its matches count in the season's ranking, too.")]
    stage: Annotated[
        int | None, Field(description="Its number among the stages of the finals; null: it is not a stage.")
    ]
    keep: Annotated[int | None, Field(description="How many bots advance from a stage; 1: the winner.")]
    further: Annotated[
        int, Field(description="The most times that two bots at the cut, or level in a knock-out, meet again.")
    ]
    third_place: bool
    rules: Annotated[int, Field(description="The version of its tie-breaks.")] = 1
    tie_breaks: Annotated[
        list[str] | None, Field(description="What breaks ties, in order; null: what `rules` says for its format.")
    ] = None
    players: int
    round: Annotated[int, Field(description="The last round that was drawn; 0: none.")]
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Played):
    """A tournament beside a season's ladder, or a stage of its finals, between the versions chosen when it began."""

    number: Annotated[int, Field(description="Its number among the season's evaluations, from 1.")]
    format: EvaluationFormat
    state: EvaluationState
    reason: Annotated[str, Field(description="Why it was cancelled; empty: it was not.")]
    due_at: Annotated[datetime, Field(description="When it began, or was due to begin by the timetable.")]


@dataclass(frozen=True, slots=True)
class EvaluationStanding(Record):
    """A version in an evaluation's standings: its points, then the figures that break ties, in the order in which they
    decide (null: this format does not use it). If all are equal, the seed decides.
    """

    place: int
    seed: Annotated[int, Field(description="By place in the previous evaluation; newcomers last, by submission.")]
    bot_id: int
    bot: str
    author: str
    version: int
    version_id: int
    points: Annotated[float, Field(description="Win 1, draw 1/2, loss or fault 0; a bye counts as a won round.")]
    rounds_won: Annotated[int | None, Field(description=ROUNDS_WON.meaning)]
    opponents_points: Annotated[float | None, Field(description=OPPONENTS_POINTS.meaning)]
    early_points: Annotated[float | None, Field(description=EARLY_POINTS.meaning)]
    opponents_early_points: Annotated[float | None, Field(description=OPPONENTS_EARLY_POINTS.meaning)]
    sonneborn_berger: Annotated[float | None, Field(description=SONNEBORN_BERGER.meaning)]
    gone: Annotated[bool, Field(description="Whether organisers took it out; in a stage, it ranks below the others.")]


@dataclass(frozen=True, slots=True)
class EvaluationSeat:
    """A version in a pairing."""

    bot_id: int
    bot: str
    version: int
    version_id: int


@dataclass(frozen=True, slots=True)
class BracketTie:
    """A place in a bracket where two meet, or a table. The final is slot 1 of the last round, the match for third place
    slot 2. `first` and `second` are null until they are known.
    """

    round: int
    slot: int
    first: EvaluationSeat | None
    second: Annotated[EvaluationSeat | None, Field(description="Stays null where the first has a bye.")]
    first_points: Annotated[float, Field(description="Points so far.")]
    second_points: float
    is_bye: bool
    winner: Annotated[int | None, Field(description="The `version_id` of the first to advance; null: not decided.")]
    seats: Annotated[list[EvaluationSeat], Field(description="Those known so far, `first` and `second` among them.")]
    points: Annotated[list[float], Field(description="Theirs, in the same order.")]
    advancing: Annotated[list[int], Field(description="The `version_id` of all that advance, the best first.")]


@dataclass(frozen=True, slots=True)
class EvaluationDetail(Evaluation):
    """An evaluation with its standings: final ones, or those so far."""

    standings: list[EvaluationStanding]
    bracket: Annotated[
        list[BracketTie], Field(description="The bracket of a knock-out, round by round; empty: it is not a knock-out.")
    ]


@dataclass(frozen=True, slots=True)
class StageProgress:
    """A stage of a season's finals. `evaluation_id`, `state` and `players` are null until it has begun."""

    number: int
    words: Annotated[str, Field(description="How it is played.")]
    evaluation_id: int | None
    state: EvaluationState | None
    players: int | None
    left: Annotated[int, Field(description="How many advanced; 0: it is not over.")]
    first: Annotated[list[EvaluationSeat], Field(description="The first ten of those that advanced, the best first.")]


@dataclass(frozen=True, slots=True)
class EvaluationPairing(Record):
    """Versions that meet in a round: two, or as many as a table has seats."""

    round: int
    board: int
    first: EvaluationSeat
    second: Annotated[EvaluationSeat | None, Field(description="null: the first has a bye.")]
    first_points: Annotated[float, Field(description="The points so far, until it is settled.")]
    second_points: float
    seats: Annotated[list[EvaluationSeat], Field(description="All of them, `first` and `second` among them.")]
    points: Annotated[list[float], Field(description="Theirs, in the same order.")]
    settled: Annotated[bool, Field(description="Whether it is over; its points do not change after that.")]
    match_ids: list[int]


@dataclass(frozen=True, slots=True)
class Course(Record):
    """A bot's places in a season's evaluations. `places`: for each, the evaluation's number and the bot's place."""

    bot_id: int
    bot: str
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ContestVersion(EvaluationSeat):
    """A version in a contest, with its bot's author."""

    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest(Played):
    """An evaluation or a stage of the finals, with rounds and standings; or a duel, in which a version, the candidate,
    meets others unrated: at its gate, because an author asked (a request), or against the season's panel. What only the
    others have is null or empty.
    """

    kind: ContestKind
    known_as: Annotated[int, Field(description="Its number in the addresses of its kind, such as /v1/challenges.")]
    number: Annotated[int | None, Field(description="Its number among the season's evaluations, from 1.")]
    format: EvaluationFormat | None
    versions: Annotated[list[ContestVersion], Field(description="The candidate of a duel, then its opponents.")]
    asker: Annotated[str | None, Field(description="The author who asked for it.")]
    private: Annotated[bool, Field(description="Whether only the bot's owners and organisers see its matches.")]
    planned: Annotated[int, Field(description="Matches of a duel that are planned or played.")]
    wins: Annotated[int, Field(description="The candidate's.")]
    draws: int
    losses: int
    elo0: Annotated[float | None, Field(description="Normalised Elo at which the test fails; null: there is no test.")]
    elo1: Annotated[float | None, Field(description="Normalised Elo at which it passes.")]
    llr: Annotated[
        float | None,
        Field(
            description="Log-likelihood ratio of the test, from `lower` to `upper`; null: there is none, or each of "
            "several opponents has its own."
        ),
    ]
    paired: Annotated[bool, Field(description="Whether the test counts deals, each played from both seats.")] = False
    lower: float | None
    upper: float | None
    minimum: Annotated[float | None, Field(description="The points that a panel's candidate needs.")]
    elo: Annotated[
        float | None,
        Field(
            description="By these matches alone: a panel candidate's performance; for a request or gate, the "
            "candidate's difference from its opponent, which is null in lists."
        ),
    ]
    low: Annotated[float | None, Field(description="The lower end of its 95 % interval.")]
    high: float | None
    state: ContestState
    reason: Annotated[str, Field(description="Why it is over, or why it was cancelled.")]
    waits: Annotated[str, Field(description="What a duel's next match waits for; empty while it plays.")]
    due_at: Annotated[datetime | None, Field(description="When an evaluation began, or was due by the timetable.")]

    @property
    def title(self) -> str:
        """Its name, with the number of an evaluation, or who meets whom."""
        if not self.versions:
            return self.name if self.stage else f"{self.name} {self.number}"
        if len(self.versions) != 2:
            own, *others = self.versions
            field = f" \N{EN DASH} {counted(len(others), 'bot')}" if self.kind == ContestKind.REQUEST else ""
            return f"{own.bot}{field or f' v{own.version}'}"
        own, other = self.versions
        if own.bot_id == other.bot_id:
            return f"{own.bot} v{own.version} \N{EN DASH} v{other.version}"
        theirs = other.bot if own.bot != other.bot else f"{other.author}/{other.bot}"
        return f"{own.bot} \N{EN DASH} {theirs}"


@dataclass(frozen=True, slots=True)
class ContestDetail(Contest):
    """A contest with its results: final ones, or those so far."""

    standings: list[EvaluationStanding]
    bracket: Annotated[list[BracketTie], Field(description="Of a knock-out, round by round.")]
    opponents: Annotated[list[PanelOpponent], Field(description="How the candidate of a duel fared against each.")]
