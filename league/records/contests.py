"""Records of contests: all that bots play against each other beside the ladder."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.engine.figures import counted
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.records.entries import PanelOpponent
from deadheat.league.records.evaluations import BracketTie, EvaluationSeat, EvaluationStanding, Played
from deadheat.league.states import ContestKind, ContestState


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
