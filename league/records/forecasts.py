"""The record of a forecast: whether there are enough machines for a season's timetable."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.engine.language import _
from deadheat.league.records import Record


@dataclass(frozen=True, slots=True)
class ForecastEvaluation:
    """The forecast for an evaluation that is running or still to come."""

    name: str
    due_at: datetime
    begins_at: datetime
    done_at: datetime
    matches: int
    skipped: Annotated[
        int, Field(description="Earlier times of this evaluation that are skipped while others are played.")
    ] = 0
    late: Annotated[
        bool,
        Field(description="Whether it will not be done when the next is due, or when the season moves on without it."),
    ] = False


@dataclass(frozen=True, slots=True)
class Forecast(Record):
    """A forecast: a season's timetable, the pace of its machines, and when its evaluations will be done."""

    season_id: Annotated[int | None, Field(description="null: the season does not exist yet.")]
    bots: int
    slots: Annotated[int, Field(description="Series played at a time; 1 if no machine judges now.")]
    series_measured: Annotated[
        int, Field(description="Series of the game from which the pace was measured; 0: it is an estimate.")
    ]
    start_seconds: Annotated[float, Field(description="Time that a slot needs for each series, besides its matches.")]
    match_seconds: Annotated[float, Field(description="Time that a slot needs for each match.")]
    turn_seconds: Annotated[float, Field(description="Time from one series to the next in the same slot.")]
    matches_a_minute: Annotated[
        float, Field(description="Matches per minute on all slots together, in series of the ladder's length.")
    ]
    evaluation_matches_a_minute: Annotated[
        float | None,
        Field(description="The same in series of the evaluations' length; null: there are no evaluations."),
    ]
    panel_matches: Annotated[
        int, Field(description="Matches against the panel that each version plays when it arrives.")
    ]
    panel_seconds: Annotated[float, Field(description="How long these matches take one slot.")]
    ladder_matches: Annotated[
        int | None,
        Field(description="Matches of the ladder still to be played; null: it is over, or their number is unlimited."),
    ]
    ladder_done_at: Annotated[
        datetime | None, Field(description="null: no matches are left, or their number is unlimited.")
    ]
    evaluations: Annotated[list[ForecastEvaluation], Field(description="At most the next 300, in order.")]
    finals_matches: Annotated[
        int, Field(description="Matches of the finals, including extra ones; 0: there are no finals to come.")
    ]
    finals_done_at: Annotated[datetime | None, Field(description="null: there are none, or they have no date.")]
    warnings: Annotated[list[str], Field(description="Why there may not be enough machines, in sentences.")]

    @property
    def words(self) -> str:
        """The forecast's assumptions in a sentence."""
        measured, rate = self.series_measured, self.evaluation_matches_a_minute
        how = _("measured with %(n)s series", n=measured) if measured else _("an estimate: nothing was played")
        beside = _(", %(rate)s in evaluations", rate=f"{rate:.0f}") if rate else ""
        said = _("%(bots)s bots; %(slots)s at a time; %(rate)s matches a minute in the ladder%(beside)s (%(how)s)")
        known = {"bots": self.bots, "slots": self.slots, "rate": f"{self.matches_a_minute:.0f}"}
        return said % {**known, "beside": beside, "how": how}
