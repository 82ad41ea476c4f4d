"""Records of late answers: how many, where, when, and whose fault it was."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record

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
class Timeouts(Record):
    """Late answers in a season, or (`season_id` null) in the league."""

    season_id: int | None
    over: Over
    commands: Annotated[list[Late], Field(description="By time, game and command; `used` for `over` only.")]
    course: Annotated[list[Late], Field(description="Over time, in steps of a minute, an hour or a day.")]
    machines: list[Late]
    bots: Annotated[list[Late], Field(description="The ten bots with most, in this season or those that go on.")]
