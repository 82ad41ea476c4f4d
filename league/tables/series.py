"""Series, their matches and seats, the attempts at them, and rulings."""

from dataclasses import fields
from datetime import datetime
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

from deadheat.engine.core import Fault, Measured
from deadheat.league.states import AppealState, Asked, JobState, MatchState, Precedence, Purpose
from deadheat.league.tables.columns import (
    MOST_WORD,
    SHA256_HEX,
    JobRow,
    Staged,
    UtcDateTime,
    index_where,
    json_column,
    word,
)


class Pair(SQLModel, table=True):
    """The number of games of two versions that a season has planned so far, including abandoned ones; pairing reads it.

    `lead`: with two seats, in how many more of them the one with the lower number sits first than second.
    """

    __table_args__ = (
        CheckConstraint("low_id < high_id", name="order"),
        Index(None, "season_id", "high_id"),
    )

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    low_id: int = Field(foreign_key="bot_version.id", primary_key=True)
    high_id: int = Field(foreign_key="bot_version.id", primary_key=True)
    games: int
    lead: int = 0


class Series(JobRow, table=True):
    """Matches between the same versions, carried out in one go. `attempt` fences off late workers.

    `avoid_host`: the machine on which an attempt failed; if possible, another one plays the rest. `precedence`: whether
    others are played first (`league.service.series.turns`). `virtual_start`: the matches that its season had been
    served when it was begun in the season's turn (the same place); None: it was not, or is older than turns.
    """

    __table_args__ = (
        CheckConstraint("(purpose IN ('ladder', 'finals')) = (meeting_id IS NULL)", name="meeting"),
        CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint("attempt >= 0", name="attempt"),
        Index(None, "state", "nudge_at"),
        Index(None, "state", "lease_until"),
        Index(None, "state", "precedence", "queued_at", "id"),
        Index(None, "season_id", "state", "precedence", "queued_at", "id"),
        Index(None, "season_id", "finished_at"),
        index_where("ix_series_virtual_start", "season_id", "virtual_start", where="virtual_start IS NOT NULL"),
        index_where("ix_series_meeting_id", "meeting_id", where="meeting_id IS NOT NULL"),
    )

    season_id: int = Field(foreign_key="season.id")
    purpose: Purpose = Field(default=Purpose.LADDER, sa_column=word(Purpose, "purpose"))
    round: int | None = None  # of the finals or an evaluation, from 1; None: others, or games after the rounds
    meeting_id: int | None = Field(default=None, foreign_key="meeting.id")
    state: JobState = Field(default=JobState.QUEUED, sa_column=word(JobState, "state"))
    precedence: int = Field(default=Precedence.ORDINARY, sa_column_kwargs={"server_default": "2"})
    avoid_host: str | None = Field(default=None, max_length=128)
    virtual_start: int | None = Field(default=None, sa_type=BigInteger)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)


class Match(Staged, table=True):
    """One playing of the game. The seed is secret until the match is done; its commitment is public from the start.

    The seed stands for a list of seeds, one for each attempt: `attempt` is the number of the one used, or to be used
    (`engine.chance.attempt_seed`). `deal`: its number among those that follow from the season's secret
    (`engine.chance.season_seed`); None: it was drawn separately.

    Matches that share their dice (the rotations of one deal) have one seed, hence one commitment, which ratings treat
    as one cluster. They lie in different series, and their dice are not shown before all of them are over
    (`league.service.series.deals`). `repeats_id`: the match that this one replaces by a ruling, with other dice.
    `asked`: its visibility if somebody asked for it (`league.service.series.privacy`); None: the league planned it.
    `comeback`: the most points by which its winner was behind (`engine.scenes`); None: unknown, or older than that.
    """

    __table_args__ = (
        UniqueConstraint("series_id", "number"),
        CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name="transcript"),
        CheckConstraint("(state IN ('scheduled', 'held')) = (finished_at IS NULL)", name="finished"),
        CheckConstraint("NOT rated OR state IN ('done', 'decided')", name="rated"),
        CheckConstraint("attempt >= 1", name="attempt"),
        Index(None, "season_id", "state", "id", "rated", "asked"),  # the last two so that counting reads no rows
        Index(None, "season_id", "id"),
        Index(None, "finished_at", "id"),
        Index(None, "season_id", "finished_at", "id"),
        index_where("ix_match_held", "season_id", where="state = 'held'"),  # few rows, and read often
        # Dice that have not been used yet.
        index_where("ix_match_commitment_scheduled", "commitment", where="state = 'scheduled'"),
        index_where("ix_match_repeats_id", "repeats_id", where="repeats_id IS NOT NULL"),
        index_where("ix_match_asked", "season_id", where="asked IS NOT NULL"),
        CheckConstraint("asked IS NULL OR NOT rated", name="asked_rated"),
    )

    series_id: int = Field(foreign_key="series.id")
    season_id: int = Field(foreign_key="season.id")
    number: int  # 0-based place in its series
    seed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    commitment: str = Field(max_length=SHA256_HEX)
    deal: int | None = None
    attempt: int = 1
    repeats_id: int | None = Field(default=None, foreign_key="match.id")
    state: MatchState = Field(default=MatchState.SCHEDULED, sa_column=word(MatchState, "state"))
    rated: bool = False
    asked: Asked | None = Field(default=None, sa_column=word(Asked, "asked", nullable=True))
    transcript_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    comeback: float | None = None
    created_at: datetime = Field(sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Participant(SQLModel, table=True):
    """A version in a seat of a match, and its result. `points`: an integer or "p/q", None after a forfeit.

    `finished_at` repeats that of the finished match, so that an index lists a bot's matches by their end; sorting took
    0.6 s for a bot with 100,000 matches.
    """

    __table_args__ = (
        UniqueConstraint("version_id", "match_id"),  # no version plays itself
        ForeignKeyConstraint(["version_id", "bot_id"], ["bot_version.id", "bot_version.bot_id"]),
        CheckConstraint("seat >= 0", name="seat"),
        CheckConstraint("rank >= 1", name="rank"),
        Index(None, "bot_id", "match_id"),
        Index(None, "bot_id", "finished_at", "match_id", "rank"),
        # Only failures of bots; most matches have none.
        index_where("ix_participant_faults", "bot_id", "match_id", where="fault IS NOT NULL"),
        index_where("ix_participant_timeouts", "finished_at", "match_id", "fault_command", where="fault = 'timeout'"),
    )

    match_id: int = Field(foreign_key="match.id", primary_key=True)
    seat: int = Field(primary_key=True)
    version_id: int
    bot_id: int
    player: str | None = Field(default=None, max_length=80)  # as its transcript names it; its bot may be renamed
    rank: int | None = None
    points: str | None = Field(default=None, max_length=64)
    fault: Fault | None = Field(default=None, sa_column=word(Fault, "fault", nullable=True))
    fault_command: str | None = Field(default=None, max_length=MOST_WORD)
    fault_elapsed_ms: float | None = None
    fault_why: str | None = Field(default=None, sa_column=Column(Text))
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Ending(SQLModel, Measured, table=True):  # type: ignore[misc]  # it takes the fields, and may change
    """How a seat's process ended; separate from `Participant` because only the bot's author may see it.

    It is stored with the seat's result, and neither is ever removed. With a foreign key, the database looked up the
    seat of each such row; together with those of `LatencySummary`, this was a fifth of its work to store a series.
    """

    match_id: int = Field(primary_key=True)
    seat: int = Field(primary_key=True)
    exit_code: int | None = None
    signal: int | None = None
    lingered: bool
    stderr: str = Field(sa_column=Column(Text, nullable=False))


for measured in fields(Measured):
    SQLModel.metadata.tables["ending"].c[measured.name].type = BigInteger()


class Attempt(SQLModel, table=True):
    """One attempt at a match, a series or a build, with its cause and evidence. Rows are only added.

    `cause` is "played" for the attempt that became the result, else one stable word for why it is void. `match_id` is
    None if the attempt concerned a series as a whole.
    """

    __table_args__ = (
        CheckConstraint("(series_id IS NULL) <> (version_id IS NULL)", name="subject"),
        CheckConstraint("match_id IS NULL OR series_id IS NOT NULL", name="match"),
        # Queries look only for lines about a series as a whole, and for lines about builds of a version.
        index_where("ix_attempt_series_id", "series_id", where="match_id IS NULL"),
        Index(None, "match_id"),
        index_where("ix_attempt_version_id", "version_id", where="version_id IS NOT NULL"),
        Index(None, "season_id", "cause"),
        # The few that lists of late answers search for those that were nobody's fault.
        index_where(
            "ix_attempt_late", "id", where="cause <> 'played' OR CAST(evidence AS TEXT) LIKE '%past_deadline%'"
        ),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int | None = Field(default=None, foreign_key="season.id")
    series_id: int | None = Field(default=None, foreign_key="series.id")
    match_id: int | None = Field(default=None, foreign_key="match.id")
    version_id: int | None = Field(default=None, foreign_key="bot_version.id")
    attempt: int  # of the series or the build
    seed_number: int | None = None  # the seed's number in the match's list; None: no match, or older than the lists
    worker: str | None = Field(default=None, max_length=128)
    cause: str = Field(max_length=MOST_WORD)
    detail: str = Field(default="", sa_column=Column(Text, nullable=False))
    evidence: dict[str, Any] = Field(default_factory=dict, sa_column=json_column())
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime = Field(sa_type=UtcDateTime)


class LiveMatch(SQLModel, table=True):
    """The progress of the match that a running series plays (see `league.service.series.live`); removed with it."""

    __tablename__ = "live_match"

    series_id: int = Field(foreign_key="series.id", primary_key=True)
    match_id: int = Field(foreign_key="match.id", index=True)
    attempt: int  # of the series
    replies: str = Field(sa_column=Column(Text, nullable=False))  # see engine.unfinished.write_replies
    at: datetime = Field(sa_type=UtcDateTime)


class VoidedMatch(SQLModel, table=True):
    """A finished match that an organiser removed from the log of results. Restoring the match removes the row.

    `rejudged_id`: the match with the same versions and seats that replaces it, if any; it may also replace an abandoned
    match, which never counted.
    """

    __tablename__ = "voided_match"

    match_id: int = Field(foreign_key="match.id", primary_key=True)
    season_id: int = Field(foreign_key="season.id", index=True)
    rejudged_id: int | None = Field(default=None, foreign_key="match.id", unique=True)
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(sa_type=UtcDateTime)


class Appeal(SQLModel, table=True):
    """An author's complaint about a match, the findings of its re-simulation, and the organiser's ruling.

    `open_key` names the match and the bot while the appeal is open, so at most one is.
    """

    __table_args__ = (
        CheckConstraint("(state = 'open') = (ruled_at IS NULL)", name="ruled"),
        CheckConstraint("(state = 'open') = (open_key IS NOT NULL)", name="open"),
        Index(None, "season_id", "state"),
    )

    id: int = Field(default=None, primary_key=True)
    match_id: int = Field(foreign_key="match.id", index=True)
    season_id: int = Field(foreign_key="season.id")
    bot_id: int = Field(foreign_key="bot.id", index=True)
    state: AppealState = Field(default=AppealState.OPEN, sa_column=word(AppealState, "state"))
    open_key: str | None = Field(default=None, max_length=32, unique=True)
    text: str = Field(sa_column=Column(Text, nullable=False))
    findings: dict[str, Any] = Field(sa_column=json_column())
    opened_at: datetime = Field(sa_type=UtcDateTime)
    ruled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ruled_by: str = Field(default="", max_length=32)
    ruling: str = Field(default="", sa_column=Column(Text, nullable=False))
