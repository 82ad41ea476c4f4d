"""Records of seasons: settings, divisions, progress, and forecasts of whether there are enough machines."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from deadheat.engine.language import _
from deadheat.league.records import Record
from deadheat.league.records.contests import StageProgress
from deadheat.league.states import SeasonState
from deadheat.league.terms import Terms


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
    slots: Annotated[int, Field(description="Series played at a time; 1 if no machine judges now; 0: agents play.")]
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
        if self.slots == 0:
            return _("%(bots)s agents; their matches begin when they ask for one", bots=self.bots)
        measured, rate = self.series_measured, self.evaluation_matches_a_minute
        how = _("measured with %(n)s series", n=measured) if measured else _("an estimate: nothing was played")
        elsewhere = _(", %(rate)s in evaluations", rate=f"{rate:.0f}") if rate else ""
        sentence = _("%(bots)s bots; %(slots)s at a time; %(rate)s matches a minute in the ladder%(beside)s (%(how)s)")
        known = {"bots": self.bots, "slots": self.slots, "rate": f"{self.matches_a_minute:.0f}"}
        return sentence % {**known, "beside": elsewhere, "how": how}


@dataclass(frozen=True, slots=True)
class Division:
    """A part of the field; 1 is the highest."""

    number: int
    name: str
    size: int | None
    entries: int


@dataclass(frozen=True, slots=True)
class Plays:
    """The numbers of matches that are really played: whole turns around the table, where each deal is played from every
    seat.
    """

    series_length: int
    games_per_pair: int | None
    finals_games: int


class _Named(BaseModel):
    """The names of a season. They are a class of their own because these fields come before the settings."""

    id: int
    game: str
    name: str = Field(examples=["Winter 2026"])
    previous_id: int | None
    state: SeasonState


_ONLY_SENT = frozenset({"default", "minimum", "maximum", "minItems", "maxItems", "maxLength"})


def _as_stored(schema: dict[str, Any]) -> None:
    """Remove the parts of a schema that apply to settings only when they are sent."""
    for setting in schema["properties"].values():
        kinds = (setting, *setting.get("anyOf", ()))
        for kind in (*kinds, *(kind["items"] for kind in kinds if "items" in kind)):
            for word in _ONLY_SENT & kind.keys():
                del kind[word]


class Season(Terms, _Named, Record):
    """A season. Once `published_at` is set, its standings are final; they follow from the log named by `log_sha256`."""

    # Created with `model_construct`: bounds apply to what is sent, and an old season may be outside today's bounds.
    model_config = ConfigDict(
        frozen=True, json_schema_serialization_defaults_required=True, json_schema_extra=_as_stored
    )

    qualified_at: datetime | None
    """When the finalists were determined."""
    finals_done_at: datetime | None
    created_at: datetime
    divisions: tuple[Division, ...]
    plays: Plays
    rounded: str
    """How play differs from the settings, as a sentence; empty: it does not."""
    published_at: datetime | None
    log_sha256: str | None
    dice_commitment: str | None
    """SHA-256 of the secret that all dice follow from; null: not open yet, or seeds are drawn one by one."""
    dice_secret: str | None
    """That secret, hexadecimal; null until the standings are published."""
    pairing_seed: str | None = None
    """The seed of the lots that decide who plays whom, hexadecimal; null until the standings are published."""

    @property
    def entries(self) -> int:
        """The number of bots that have entered."""
        return sum(division.entries for division in self.divisions)


@dataclass(frozen=True, slots=True)
class Progress:
    """A season's progress. `counting`: the `done` matches that count, which are neither voided nor replayed, and have
    no disqualified bot; `voids`: void attempts.
    """

    entries: int
    scheduled: int
    done: int
    counting: int
    held: Annotated[
        int, Field(description="Matches that the service failed to play too often; an organiser must decide.")
    ]
    abandoned: int
    voids: int


@dataclass(frozen=True, slots=True)
class FinalsProgress:
    """Progress of a division's finals. A series is one meeting in a round; extra games follow the rounds."""

    division: int
    finalists: int
    round: Annotated[int, Field(description="The last round that has begun.")]
    rounds: int
    finished: Annotated[int, Field(description="Finished series of the rounds.")]
    series: int
    extra_games: int
    extra_left: int


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The open matters of a season. `matches` are waiting; those in progress are played to the end in any case."""

    appeals: int
    matches: int
    rejudged: Annotated[int, Field(description="How many of these replay other matches by a ruling.")]
    finals: Annotated[bool, Field(description="Whether finals are planned and not over.")]


class SeasonDetail(Season):
    """A season with its progress."""

    progress: Progress
    unfinished: Unfinished
    """What closing it manually now would cut off."""
    waits_for: list[str]
    """Why it does not close although it is due, in words."""
    finals_progress: list[FinalsProgress]
    """By division, once the finalists are determined; none for finals in stages."""
    stage_progress: list[StageProgress]
    """The stages of its finals, if it has any."""


@dataclass(frozen=True, slots=True)
class DeclaredChange:
    """A difference that a season's file makes."""

    path: Annotated[str, Field(description="Table and key, such as dates.opens_at.")]
    now: Annotated[Any, Field(description="In a season that does not exist yet: its value without the file.")]
    then: Any


@dataclass(frozen=True, slots=True)
class DeclaredDate:
    """A step of a season's timetable. `otherwise`: when it is taken if it has no date."""

    path: str
    label: str
    at: datetime | None
    otherwise: str = "manually"


@dataclass(frozen=True)
class Declared(Record):
    """The changes that a season's file makes, or has made."""

    season_id: Annotated[int | None, Field(description="null: the preview of a season that does not exist yet.")]
    applied: Annotated[bool, Field(description="false: it was a preview, or there was nothing to change.")]
    timezone: Annotated[
        str | None, Field(description="That of the file's dates without an offset; null: it names none.")
    ]
    changes: list[DeclaredChange]
    timetable: list[DeclaredDate]
    forecast: Annotated[Forecast, Field(description="Whether there are enough machines for it.")]
    warnings: list[str]
