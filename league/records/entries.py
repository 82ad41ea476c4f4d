"""Records of bots in seasons: entries, waiting times, versions at promotion gates, challenges and panels."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import Absence, ChallengeState
from deadheat.league.words import Outcome


@dataclass(frozen=True, slots=True)
class Entry(Record):
    """A bot in a season."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version: int
    follows: Annotated[bool, Field(description="Whether newer versions take over automatically.")]
    division: int
    finals_seed: Annotated[
        int | None, Field(description="Its place in the frozen ladder, if it qualified for the finals.")
    ]
    finals_place: Annotated[
        int | None, Field(description="Its place after the stages of the finals; null: it has none (yet).")
    ]
    gated: Annotated[bool, Field(description="Whether newer versions must pass a promotion gate.")]
    challenger: Annotated[int | None, Field(description="The version at the gate now.")]
    absence: Annotated[Absence | None, Field(description="null: it takes part.")]
    absence_reason: Annotated[str, Field(description="An organiser's reason; empty if its author withdrew it.")]
    waits_for_panel: Annotated[
        bool, Field(description="Whether it waits because no version has enough points against the season's panel.")
    ]
    rests: Annotated[str, Field(description="Why it is resting until its author lets it play; empty: it is not.")]


@dataclass(frozen=True, slots=True)
class Waiting(Record):
    """How long a bot waits for its next result in a season."""

    playing: Annotated[int, Field(description="Its matches in series in progress.")]
    planned: Annotated[int, Field(description="Its matches in waiting series.")]
    before: Annotated[int, Field(description="Matches of other bots that come first, in any season.")]
    seconds: Annotated[
        int | None,
        Field(
            description="Estimate until its next result: the matches ahead, each at its season's average duration in "
            "the last hour, divided by the number of series in progress. null: no series is in progress, or too few "
            "matches have ended."
        ),
    ]
    over: Annotated[bool, Field(description="Whether no further result will come.")]
    sentence: Annotated[str, Field(description="The whole answer in words.")]


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


@dataclass(frozen=True, slots=True)
class AskedChallenge(Record):
    """Unrated games between two versions, at the request of one's author. The test, if there is one, ends when `llr`
    reaches `lower` or `upper`. With several opponents, `/v1/contests` has the others, and each one's score and test.
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
    opponents: Annotated[int, Field(description="If several, `opponent` is the first; the score is the total.")] = 1

    @property
    def sides(self) -> tuple[str, str]:
        """The names of both sides, with version numbers or authors if both have the same name."""
        if self.bot != self.opponent:
            return self.bot, self.opponent
        if self.bot_id == self.opponent_id:
            return f"{self.bot} v{self.version}", f"{self.opponent} v{self.opponent_version}"
        return self.bot, f"{self.opponent} ({self.opponent_author})"


@dataclass(frozen=True, slots=True)
class PanelOpponent:
    """An opponent, such as a bot of the panel, and how the version has fared against it."""

    bot_id: int
    bot: str
    author: str
    version: int
    points: Annotated[float, Field(description="Win 1, draw 1/2, loss or fault 0.")]
    wins: int
    draws: int
    losses: int
    faults: Annotated[int, Field(description="Matches that the version lost by its own fault.")]
    match_ids: list[int]
    opponent_faults: Annotated[int, Field(description="Matches that the opponent lost by its own fault.")] = 0
    llr: Annotated[float | None, Field(description="Of this opponent's own test; null: it has none.")] = None
    outcome: Annotated[Outcome | None, Field(description="Of several at a request: why it is over.")] = None


@dataclass(frozen=True, slots=True)
class PanelResult(Record):
    """A version's results against a season's panel, whose bots it plays as soon as it is ready."""

    id: int
    season_id: int
    season: str
    bot_id: int
    version: int
    state: Annotated[
        ChallengeState, Field(description="passed: it has enough points, or needs none; failed: it has too few.")
    ]
    waits: Annotated[bool, Field(description="Whether another version of the bot plays the panel first.")]
    plays: Annotated[bool, Field(description="Whether it is the version that plays for its bot now.")]
    points: Annotated[float, Field(description="The points so far.")]
    most: Annotated[int, Field(description="The most points that it can get; with a test, those of the games so far.")]
    minimum: Annotated[float | None, Field(description="The points that it needs to play for its bot; null: none.")]
    elo: Annotated[
        float | None, Field(description="Its estimated performance, by these matches alone; null: before the first.")
    ]
    low: Annotated[float | None, Field(description="The lower end of its 95 % interval.")]
    high: float | None
    reason: Annotated[str, Field(description="Why it ended without a verdict; empty: it did not.")]
    opponents: list[PanelOpponent]
    created_at: datetime
    ended_at: datetime | None
    elo0: Annotated[float | None, Field(description="Normalised Elo at which its test fails; null: none.")] = None
    elo1: Annotated[float | None, Field(description="Normalised Elo at which it passes.")] = None
    llr: Annotated[float | None, Field(description="Log-likelihood ratio of the test.")] = None

    @property
    def score(self) -> str:
        """The points in words."""
        needed = "" if self.minimum is None else f", {self.minimum:g} needed"
        needed += "" if self.llr is None else f", LLR {self.llr:.2f}"
        return f"{self.points:g} of {self.most} points{needed}"

    @property
    def performance(self) -> str:
        """The estimated performance in words, with half its interval; empty before the first match."""
        if self.elo is None or self.low is None or self.high is None:
            return ""
        return f"{self.elo:.0f} ± {(self.high - self.low) / 2:.0f}"
