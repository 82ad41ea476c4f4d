"""Seasons: their settings, divisions and entries, and what is computed from their matches."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

from deadheat.league.states import Absence, SeasonState, Span
from deadheat.league.tables.columns import (
    MOST_WORD,
    SHA256_HEX,
    Staged,
    UtcDateTime,
    apart,
    index_where,
    json_column,
    word,
)
from deadheat.league.terms import DATES, TERMS, Term, Terms

BOUNDED_ABOVE = frozenset({"series_length", "finals_games"})
"""Settings whose upper bound the database checks, too."""


def _column(term: Term) -> Any:
    """Return the column of a setting."""
    if term.kind is datetime:
        return Field(default=None, sa_type=UtcDateTime)
    if term.kind is list:
        return Field(default=None, sa_column=json_column(nullable=True))
    if issubclass(term.kind, StrEnum):
        return Field(default=term.default, sa_column=word(term.kind, term.name))
    return Field(default=term.default)


def _bounds(term: Term) -> Iterator[CheckConstraint]:
    """Yield the bounds that the database checks, in addition to the values of enumerations."""
    if term.least is not None:
        bounds = f"BETWEEN {term.least} AND {term.most}" if term.name in BOUNDED_ABOVE else f">= {term.least}"
        unset = f"{term.name} IS NULL OR " if term.optional else ""
        yield CheckConstraint(f"{unset}{term.name} {bounds}", name=term.name)


class Season(Terms, Staged, table=True):
    """A competition in one game; its settings are those of `league.terms`.

    `log_serial` counts changes of the log of results, and `rated_serial` is its value for the newest ranking: if they
    differ, a refit is due. `settled_until`: the order is settled, and until then the ladder plans nothing; None: it is
    not settled. `games_per_pair` None: unlimited. `pairing_seed` decides all lots of the pairing (with
    `series_planned`, the number of series that the ladder has planned); it is drawn with the first series and published
    with the standings. `secret` decides all dice (`league.service.series.deals`), of which `deals` numbers are used up;
    it is drawn at the opening, when its commitment is published, and is itself published with the standings. None: the
    season was opened before such secrets existed, and its seeds are drawn one by one. `evaluations`: their timetable
    (`league.timetable`), as declared at `evaluations_at`.
    """

    __mapper_args__ = apart("pairing_seed", "secret")
    __table_args__ = (
        *(check for term in TERMS.values() for check in _bounds(term)),
        CheckConstraint("opens_at IS NULL OR closes_at IS NULL OR opens_at < closes_at", name="dates"),
        *(
            CheckConstraint(f"{date} IS NULL OR {other} IS NULL OR {date} < {other}", name=f"{date}_{other}")
            for date, other in combinations(DATES, 2)
            if (date, other) != ("opens_at", "closes_at")
        ),
    )

    game: str = Field(max_length=64)
    name: str = Field(max_length=64)
    name_key: str = Field(max_length=64, unique=True)
    previous_id: int | None = Field(default=None, foreign_key="season.id")
    state: SeasonState = Field(default=SeasonState.SCHEDULED, sa_column=word(SeasonState, "state"))
    for _term in TERMS.values():
        __annotations__[_term.name], vars()[_term.name] = Terms.model_fields[_term.name].annotation, _column(_term)
    del _term

    evaluations: list[dict[str, Any]] | None = Field(default=None, sa_column=json_column(nullable=True))
    evaluations_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    qualified_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # when the finalists were known
    finals_done_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    pairing_seed: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    secret: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    deals: int = 0
    series_planned: int = 0
    settled_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    log_serial: int = 0
    rated_serial: int = 0
    created_at: datetime = Field(sa_type=UtcDateTime)


class Division(SQLModel, table=True):
    """A part of a season's field. Only bots of one division meet. 1 is the highest, and every season has it."""

    __table_args__ = (
        CheckConstraint("number >= 1", name="number"),
        CheckConstraint("size IS NULL OR size >= 2", name="size"),
    )

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    number: int = Field(primary_key=True)
    name: str = Field(max_length=32)
    size: int | None = None  # the most entries; None: any number


class SeasonRules(SQLModel, table=True):
    """A version of the game's rules under which a season was played (`Game.rules_version`), and its start."""

    __tablename__ = "season_rules"
    __table_args__ = (CheckConstraint("rules_version >= 1", name="rules_version"),)

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    rules_version: int = Field(primary_key=True)
    first_at: datetime = Field(sa_type=UtcDateTime)


class SeasonInvitation(SQLModel, table=True):
    """An author on the list of a season that admits only invited authors."""

    __tablename__ = "season_invitation"

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    user_id: int = Field(foreign_key="user_account.id", primary_key=True)


class Entry(SQLModel, table=True):
    """A bot in a season, with the version that plays. `follows`: each new version takes over once it is ready.

    `gate`: the terms on which a new version takes over instead (see `league.service.duels.gates`); None: no gate.
    `finals_seed`: its place in its division's frozen ladder if it qualified for the finals, from 1. `finals_place`: its
    place after the stages of the finals; None: they are not over for it, or the finals have none. `waiting_since`: how
    many series the ladder had planned when the bot was last planned or entered; None: it has just entered. `chosen_at`:
    when its author last chose another version; None: never. `waits_for_panel`: none of its versions has the required
    points against the season's panel yet, so nothing is drawn for it. `rests_since`, `rest_reason`, `faults_since`: see
    `league.service.seasons.absence`; faults before it are forgiven.
    """

    __table_args__ = (
        UniqueConstraint("season_id", "bot_id"),
        UniqueConstraint("season_id", "division", "finals_seed"),
        ForeignKeyConstraint(["version_id", "bot_id"], ["bot_version.id", "bot_version.bot_id"]),
        ForeignKeyConstraint(["season_id", "division"], ["division.season_id", "division.number"]),
        CheckConstraint("finals_seed >= 1", name="finals_seed"),
        CheckConstraint("finals_place >= 1", name="finals_place"),
        Index(None, "bot_id"),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int = Field(foreign_key="season.id")
    bot_id: int = Field(foreign_key="bot.id")
    version_id: int
    follows: bool = True
    division: int = 1
    finals_seed: int | None = None
    finals_place: int | None = None
    gate: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    waiting_since: int | None = None
    chosen_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    waits_for_panel: bool = False
    rests_since: datetime | None = Field(default=None, sa_type=UtcDateTime)
    rest_reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    faults_since: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)


class AbsentEntry(SQLModel, table=True):
    """An entry that gets no new matches (see `league.states.Absence`). Its return removes the row."""

    __tablename__ = "absent_entry"

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    bot_id: int = Field(foreign_key="bot.id", primary_key=True)
    absence: Absence = Field(sa_column=word(Absence, "absence"))
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(sa_type=UtcDateTime)


class LatencySummary(SQLModel, table=True):
    """One seat's response times to one command in one match, in nanoseconds. It has no foreign key; see `Ending`."""

    __tablename__ = "latency_summary"

    match_id: int = Field(primary_key=True)
    seat: int = Field(primary_key=True)
    command: str = Field(max_length=MOST_WORD, primary_key=True)
    limit_ns: int = Field(sa_type=BigInteger)
    prompts: int
    total_ns: int = Field(sa_type=BigInteger)
    worst_ns: int = Field(sa_type=BigInteger)


class ResponseTimes(SQLModel, table=True):
    """A version's response times to one command in a season: the sum of `LatencySummary` over finished matches.
    `counts`: the number by bucket (see `league.time_buckets`; JSON has its keys as text).
    """

    __tablename__ = "response_times"

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    version_id: int = Field(foreign_key="bot_version.id", primary_key=True)
    command: str = Field(max_length=MOST_WORD, primary_key=True)
    limit_ns: int = Field(default=0, sa_type=BigInteger)  # the longest one given
    prompts: int = Field(default=0, sa_type=BigInteger)
    total_ns: int = Field(default=0, sa_type=BigInteger)
    worst_ns: int = Field(default=0, sa_type=BigInteger)
    counts: dict[str, int] = Field(default_factory=dict, sa_column=json_column())


class DeadlineCount(SQLModel, table=True):
    """How prompts met their deadlines, by command, machine and span of time (`league.service.series.deadlines`).

    `machine`: 0 if unknown. `begins_at`: 1970 for a season. `ruled`: only what rulings changed. `timeouts` are bots'
    faults; `given_back` answers counted past the deadline, because the host had taken the excess; `void` ones have no
    verdict, or belong to a voided match. `limit_ns`: the longest. `counts`: as in `ResponseTimes`.
    """

    __tablename__ = "deadline_count"

    span: Span = Field(sa_column=word(Span, "span", primary_key=True))
    begins_at: datetime = Field(sa_type=UtcDateTime, primary_key=True)
    season_id: int = Field(foreign_key="season.id", primary_key=True)
    command: str = Field(max_length=MOST_WORD, primary_key=True)
    machine: int = Field(primary_key=True)
    ruled: bool = Field(default=False, primary_key=True)
    limit_ns: int = Field(default=0, sa_type=BigInteger)
    prompts: int = Field(default=0, sa_type=BigInteger)
    timeouts: int = Field(default=0, sa_type=BigInteger)
    given_back: int = Field(default=0, sa_type=BigInteger)
    void: int = Field(default=0, sa_type=BigInteger)
    counts: dict[str, int] = Field(default_factory=dict, sa_column=json_column(server_default="{}"))


class RatingSnapshot(SQLModel, table=True):
    """A computed ranking, with the hash of its log and its configuration. It never changes, except that the `standings`
    of old ones that are no longer `whole` are emptied (see `league.service.rankings.standings`).

    `final`: the published standings of a closed season; there is one, and triggers refuse its change and removal.
    """

    __tablename__ = "rating_snapshot"
    __table_args__ = (
        CheckConstraint("whole OR NOT final", name="whole"),
        Index(None, "season_id", "id"),
        index_where("ix_rating_snapshot_whole", "season_id", "id", where="whole"),
        index_where("uq_rating_snapshot_final", "season_id", where="final", unique=True),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int = Field(foreign_key="season.id")
    log_sha256: str = Field(max_length=SHA256_HEX)
    config: dict[str, Any] = Field(sa_column=json_column())
    standings: dict[str, Any] = Field(sa_column=json_column())
    final: bool = False
    whole: bool = True
    created_at: datetime = Field(sa_type=UtcDateTime)


class RatingPoint(SQLModel, table=True):
    """A bot's rating at one time of a season, thinned as the season ages (see `league.service.rankings.history`)."""

    __tablename__ = "rating_point"
    __table_args__ = (Index(None, "bot_id", "season_id"),)

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    second: int = Field(primary_key=True)  # of the season's age
    bot_id: int = Field(foreign_key="bot.id", primary_key=True)
    version_id: int = Field(foreign_key="bot_version.id")
    elo: float
    low: float
    high: float
    rank: int
