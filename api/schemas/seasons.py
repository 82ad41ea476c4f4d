"""The shapes of seasons."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Self

from pydantic import (
    AwareDatetime,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from api.schemas.base import Input, Output, RowId
from league.states import (
    Admission,
    FinalsFormat,
    FinalsLog,
    Ranks,
    SeasonState,
)

SeasonName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+:'()/-]*$", max_length=64)]

DivisionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$", max_length=32)]

Date = Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC), le=datetime(2200, 1, 1, tzinfo=UTC))]


class DivisionRequest(Input):
    """A part of the field."""

    name: DivisionName = Field(examples=["First"])
    size: Annotated[int, Field(ge=2, le=10_000)] | None = Field(default=None, description="Most entries; null: any.")


class SeasonTerms(Input):
    """What an organiser may set; what is left out stays as it is, or has its default."""

    ranks: Ranks = Field(default=Ranks.PLACEMENT, description="What counts of a table of three and more.")
    seats: int = Field(default=2, ge=2, le=64, description="At a table; by default the fewest that the game has.")
    series_length: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Matches played in one go; in Liar's Dice whole turns round the table (of 10 at a table of 4: 8).",
    )
    games_per_pair: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Matches of each pair in the whole ladder, rounded like those in one go; null: no bound.",
    )
    opens_at: Date | None = Field(default=None, description="null: opened by hand.")
    freezes_at: Date | None = Field(default=None, description="From then on no entries and no other versions.")
    finals_at: Date | None = Field(default=None, description="null: begun by hand.")
    closes_at: Date | None = Field(default=None, description="null: closed by hand, or by the end of the finals.")
    finals: FinalsFormat = Field(default=FinalsFormat.NONE, description="How they are played.")
    finals_top: int | None = Field(
        default=None, ge=2, le=10_000, description="So many of each division qualify; null: all."
    )
    finals_games: int = Field(default=10, ge=1, le=1000, description="Matches each time that two finalists meet.")
    finals_rounds: int | None = Field(
        default=None, ge=1, le=100, description="Of Swiss finals; null: as many as halving the field to one takes."
    )
    finals_extra_games: int = Field(
        default=0, ge=0, le=1_000_000, description="For each division, to tell neighbours apart after the rounds."
    )
    finals_log: FinalsLog = Field(default=FinalsLog.SEASON, description="Which matches rank the finalists.")
    closes_when_done: bool = Field(default=True, description="The end of the finals closes the season.")
    promoted: int = Field(
        default=0, ge=0, le=1000, description="Bots that change places between neighbouring divisions afterwards."
    )
    admission: Admission = Field(default=Admission.EVERYONE, description="Who may enter.")
    entries_per_author: int | None = Field(
        default=None, ge=1, le=1000, description="That one person has a hand in, alone and in teams."
    )
    teams_only: bool = Field(default=False, description="Only bots of teams may enter.")
    languages: list[Annotated[str, StringConstraints(max_length=32)]] | None = Field(
        default=None, min_length=1, max_length=50, description="null: all that the judge image has."
    )
    uploads_per_hour: int | None = Field(
        default=None, ge=1, le=100_000, description="By one author for bots that take part."
    )
    versions_per_day: int | None = Field(default=None, ge=1, le=100_000, description="Of a bot that takes part.")
    challenge_games: int = Field(
        default=1000, ge=0, le=100_000, description="Most games of a version at a promotion gate; 0: no gates."
    )


class SeasonRequest(SeasonTerms):
    """A new season. With `previous_id` it continues that one: settings, divisions and entries are taken over."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in (("game", "string"), ("previous_id", "integer"))
            ],
            "examples": [{"name": "Winter 2026", "game": "yacht-auction"}],
        }
    )

    name: SeasonName = Field(examples=["Winter 2026"])
    game: str | None = Field(default=None, max_length=64, examples=["yacht-auction"])
    previous_id: RowId | None = Field(default=None, description="A closed season whose standings are published.")
    divisions: list[DivisionRequest] = Field(
        default=[], max_length=20, description="The highest first; empty: a single one of any size."
    )

    @model_validator(mode="after")
    def _has_a_game(self) -> Self:
        if self.game is None and self.previous_id is None:
            raise ValueError("a season needs a game, or a season that it continues")
        return self


class SeasonChange(SeasonTerms):
    """What is to change: the state, settings, or both (settings first)."""

    name: SeasonName | None = None
    state: SeasonState | None = None
    divisions: list[DivisionRequest] | None = Field(
        default=None, max_length=20, description="Until the season opens: the highest first; empty: a single one."
    )
    force: bool = Field(default=False, description="Close it although something in it is open.")


class Progress(Output):
    """How far it is. `counting`: of the matches that are `done`, those that count, so neither voided nor played again
    nor of a bot that is disqualified; `voids`: attempts that we spoiled.
    """

    entries: int
    scheduled: int
    done: int
    counting: int
    held: int = Field(description="Matches at which we failed so often that an organiser is to decide.")
    abandoned: int
    voids: int


class Division(Output):
    """A part of the field; 1 is the highest."""

    number: int
    name: str
    size: int | None
    entries: int


class Plays(Output):
    """What is really played: in Liar's Dice, where everybody has each hand once, whole turns round the table."""

    series_length: int
    games_per_pair: int | None
    finals_games: int


class Season(Output):
    """A season. With `published_at` its standings are final; `log_sha256` names the log that they follow from."""

    id: int
    game: str = Field(examples=["yacht-auction"])
    name: str = Field(examples=["Winter 2026"])
    previous_id: int | None
    state: SeasonState
    ranks: Ranks
    seats: int
    series_length: int
    games_per_pair: int | None
    opens_at: datetime | None
    freezes_at: datetime | None
    finals_at: datetime | None
    closes_at: datetime | None
    finals: FinalsFormat
    finals_top: int | None
    finals_games: int
    finals_rounds: int | None
    finals_extra_games: int
    finals_log: FinalsLog
    closes_when_done: bool
    qualified_at: datetime | None = Field(description="When the finalists were known.")
    finals_done_at: datetime | None
    promoted: int
    admission: Admission
    entries_per_author: int | None
    teams_only: bool
    languages: list[str] | None
    uploads_per_hour: int | None
    versions_per_day: int | None
    challenge_games: int
    plays: Plays
    rounded: str = Field(description="What is played otherwise than set, as a sentence; empty: nothing.")
    created_at: datetime
    divisions: list[Division]
    published_at: datetime | None
    log_sha256: str | None
    dice_commitment: str | None = Field(
        description="SHA-256 of the secret that all dice follow from; null: not open yet, or seeds drawn one by one."
    )
    dice_secret: str | None = Field(description="That secret, hexadecimal; null until the standings are published.")


class Invited(Output):
    """Authors who may enter a season that is not for everyone."""

    items: list[str]


class Unfinished(Output):
    """What is open in a season. `matches` wait; those that run are played to their end whatever happens."""

    appeals: int
    matches: int
    rejudged: int = Field(description="Of the matches, those that an organiser has ordered to be played again.")
    finals: bool = Field(description="There are to be finals, and they are not over.")


class FinalsProgress(Output):
    """How far the finals of a division are. A series is one meeting in a round; further games follow the rounds."""

    division: int
    finalists: int
    round: int = Field(description="The last that has begun.")
    rounds: int
    finished: int = Field(description="Series of the rounds.")
    series: int
    extra_games: int
    extra_left: int


class SeasonDetail(Season):
    """A season with its progress."""

    progress: Progress
    unfinished: Unfinished = Field(description="What closing it by hand now would cut off.")
    waits_for: list[str] = Field(description="If it is due to close and does not, why, in words.")
    finals_progress: list[FinalsProgress] = Field(description="By division, from when the finalists are known.")


class Seasons(Output):
    """The newest first."""

    items: list[Season]
