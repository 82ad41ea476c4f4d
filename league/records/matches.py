"""Records of matches, of attempts at them, of how bots ended in them, and of late answers."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from deadheat.engine.core import Fault, Measured
from deadheat.engine.transcript import DEPARTURES
from deadheat.league.records import Record
from deadheat.league.states import Asked, MatchState
from deadheat.league.words import Uncounting


@dataclass(frozen=True, slots=True)
class FaultView(Record):
    """A seat's fault, with its place and reason; `elapsed_ms` is its own time."""

    fault: Fault
    command: str
    elapsed_ms: float | None
    why: str

    @property
    def word(self) -> str:
        """The fault, or how an agent left."""
        return next((word for word, left in DEPARTURES.items() if left == self.why), self.fault.value)


@dataclass(frozen=True, slots=True)
class SeatView(Record):
    """A seat and its player. `points` is a whole number or a fraction "p/q"; null if there are none."""

    seat: int
    bot_id: int
    bot: str
    author: str
    version: int
    player: Annotated[
        str | None,
        Field(description="The bot's name in the transcript; it may have been renamed since. Null before the match."),
    ]
    rank: int | None
    points: str | None
    fault: FaultView | None
    model: Annotated[str, Field(description="What an agent said that it is. Nobody checks it.")] = ""


@dataclass(frozen=True, slots=True)
class Uncounted(Record):
    """Why a finished match does not count."""

    cause: Uncounting
    sentence: str
    rejudged_id: Annotated[int | None, Field(description="The match that replaces it.")]


@dataclass(frozen=True, slots=True)
class Match(Record):
    """One match. The commitment, SHA-256(seed), is published from the start; seed and transcript once this match and
    all others with the same dice are over, and the season does not withhold them until its final standings.
    """

    id: int
    season_id: int
    series_id: int
    game: str
    variant: Annotated[list[str] | None, Field(description="Numbers that its season sets differently from the rules.")]
    state: MatchState
    rated: bool
    commitment: str
    seed: str | None
    deal: Annotated[
        int | None,
        Field(
            description="The seed's number among those that follow from the season's secret; "
            "null: it was drawn separately."
        ),
    ]
    asked: Annotated[
        Asked | None,
        Field(description="Who may see an unrated match that an author asked for; null: the league planned it."),
    ]
    attempt: Annotated[int, Field(description="Which seed of the match's list it was, or will be, played with.")]
    transcript_sha256: str | None
    created_at: datetime
    finished_at: datetime | None
    seats: tuple[SeatView, ...]
    uncounted: Annotated[Uncounted | None, Field(description="null: it counts, or is not finished.")]
    repeats_id: Annotated[int | None, Field(description="The match that this one replaces after a ruling.")]
    comeback: Annotated[
        float | None,
        Field(description="The most points by which the winner was behind at the end of a round; null: not known."),
    ]

    @property
    def withheld(self) -> bool:
        """Whether the match is done, but its dice and moves are not public yet (`league.service.series.deals`)."""
        return self.state == MatchState.DONE and self.seed is None

    @property
    def names(self) -> list[str]:
        """The bots by seat; as AUTHOR/NAME if two have the same name, with their versions if one meets itself (at a
        promotion gate).
        """
        return [self._told_apart(seat) for seat in self.seats]

    def _told_apart(self, seat: SeatView) -> str:
        namesakes = [other.bot_id for other in self.seats if other.bot == seat.bot]
        name = f"{seat.author}/{seat.bot}" if len(set(namesakes)) > 1 else seat.bot
        return name + (f" v{seat.version}" if namesakes.count(seat.bot_id) > 1 else "")


MOST_ATTEMPTS = 200
"""The most attempts that a match's record lists."""


@dataclass(frozen=True, slots=True)
class AttemptView(Record):
    """One attempt: "played", or why it is void, with the evidence. `match_id` null: it concerned the whole series."""

    match_id: int | None
    seed_number: Annotated[
        int | None,
        Field(description="Which seed of the match's list; null: none, or the attempt was made before 2026-11."),
    ]
    machine: Annotated[int | None, Field(description="The machine's number, as in the export.")]
    cause: str
    detail: str
    seat: Annotated[int | None, Field(description="The seat that was to answer when it failed.")]
    evidence: dict[str, Any]
    started_at: datetime | None
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class LatencyView(Record):
    """Response times of one seat to one command: its own time, without what the host took."""

    seat: int
    command: str
    limit_ns: int
    prompts: int
    mean_ns: int
    worst_ns: int


@dataclass(frozen=True, slots=True)
class MatchDetail(Match):
    """A match with its attempts and response times."""

    not_played: Annotated[str, Field(description="Why it was abandoned; empty if it was not.")]
    attempts: tuple[AttemptView, ...]
    latencies: tuple[LatencyView, ...]


@dataclass(frozen=True, slots=True)
class EndingView(Record, Measured):
    """How your bot's process ended."""

    seat: int
    bot: str
    version: int
    exit_code: int | None
    signal: int | None
    lingered: bool
    stderr: str


Used = tuple[float, float, float]


class Over(StrEnum):
    """The time that figures cover, up to now."""

    FIVE_MINUTES = "5-minutes"
    HOUR = "hour"
    DAY = "day"
    SEASON = "season"


class Whose(StrEnum):
    """The one at fault for a late answer: the bot, or the host, whose fault was made good; or void, if nobody is."""

    BOT = "bot"
    HOST = "host"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Late(Record):
    """The late answers of one row of a list. What the list is not about is null, and so is what is unknown."""

    prompts: int
    timeouts: Annotated[int, Field(description="Bots' faults, in matches that no organiser has voided.")]
    share: Annotated[float | None, Field(description="`timeouts` of `prompts`, 0 to 1; null without prompts.")]
    interval: Annotated[tuple[float, float] | None, Field(description="Its 95 % interval, by Wilson.")]
    given_back: Annotated[int | None, Field(description="Those that counted: the host had taken the excess.")] = None
    void: Annotated[int | None, Field(description="Those without a verdict, or in matches that are void.")] = None
    over: Over | None = None
    at: Annotated[datetime | None, Field(description="When its minute, hour or day began.")] = None
    game: str | None = None
    command: Annotated[str | None, Field(description='"": unknown.')] = None
    limit_ns: Annotated[int | None, Field(description="The longest limit that was given.")] = None
    used: Annotated[Used | None, Field(description="Shares of the limit that 50, 95 and 99 % did not exceed.")] = None
    machine: Annotated[int | None, Field(description="Its number; 0: unknown.")] = None
    bot_id: int | None = None
    bot: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class LateAgents(Record):
    """The late answers of agents in a season. They count apart, because delays of a network are nobody's."""

    season_id: int
    season: str
    turns: Annotated[int, Field(description="Questions in matches that are over.")]
    late: Annotated[int, Field(description="Questions whose answer came too late.")]
    absent: Annotated[int, Field(description="Questions that were never fetched.")]


@dataclass(frozen=True, slots=True)
class Timeouts(Record):
    """Late answers in a season, or (`season_id` null) in the league."""

    season_id: int | None
    over: Over
    commands: Annotated[list[Late], Field(description="By time, game and command; `used` for `over` only.")]
    course: Annotated[list[Late], Field(description="Over time, in steps of a minute, an hour or a day.")]
    machines: list[Late]
    bots: Annotated[list[Late], Field(description="The ten bots with most, in this season or those that go on.")]
    agents: Annotated[list[LateAgents], Field(description="Agents, who are in no other figure, by season.")] = field(
        default_factory=list
    )
