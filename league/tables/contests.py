"""Contests: their frozen fields, the meetings of their rounds, and the results of these."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Text, UniqueConstraint, false
from sqlmodel import Field, SQLModel

from deadheat.league.states import ContestKind, EvaluationFormat, EvaluationState
from deadheat.league.tables.columns import Staged, UtcDateTime, index_where, json_column, word


class Contest(Staged, table=True):
    """A tournament beside the ladder, among the versions that were active when it began, with standings of its own: an
    evaluation, or a stage of the finals.

    `due_at`: its instant in the timetable, or when an organiser began it. `matches`: per pair in a round. `rounds`:
    their number. `rated`: whether its matches count in the season's ranking. `reason`: of a cancellation.

    `stage`: its number among the stages of the season's finals, from 1; None: it is an evaluation. `keep`: how many
    advance. `further`: how often two may meet again (`league.pairing.tournament`). `rules`: the version of its
    tie-breaks, `tie_breaks`: those chosen in their place (`league.pairing.figures`).
    """

    __table_args__ = (
        UniqueConstraint("season_id", "number"),
        UniqueConstraint("season_id", "name", "due_at"),
        index_where("ix_contest_running", "season_id", unique=True, where="state = 'running'"),  # one at a time
        CheckConstraint("(state = 'running') = (ended_at IS NULL)", name="ended"),
        CheckConstraint("number >= 1", name="number"),
        CheckConstraint("rounds >= 0", name="rounds"),
        CheckConstraint("matches >= 1", name="matches"),
        index_where("ix_contest_stage", "season_id", "stage", unique=True, where="stage IS NOT NULL"),
        CheckConstraint("stage >= 1", name="stage"),
        CheckConstraint("(kind = 'stage') = (stage IS NOT NULL)", name="stage_kind"),
        CheckConstraint("keep >= 1", name="keep"),
        CheckConstraint("further >= 0", name="further"),
    )

    season_id: int = Field(foreign_key="season.id")
    kind: ContestKind = Field(sa_column=word(ContestKind, "kind"))
    number: int
    name: str = Field(max_length=64)
    format: EvaluationFormat = Field(sa_column=word(EvaluationFormat, "format"))
    rounds: int
    matches: int
    rated: bool = False
    stage: int | None = None
    keep: int | None = None
    further: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    third_place: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    rules: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
    tie_breaks: list[str] | None = Field(default=None, sa_column=json_column(nullable=True))
    state: EvaluationState = Field(default=EvaluationState.RUNNING, sa_column=word(EvaluationState, "state"))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    due_at: datetime = Field(sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class ContestPlayer(SQLModel, table=True):
    """A version in a contest's field. `place`: in the final standings; None until they are final.

    `figures`: its points and tie-breaks there, by their names in `Placed`. None: not final, or it ended before they
    were stored.

    `gone_after`: the number of rounds drawn before an organiser's removal of it was noticed. It does not return to this
    contest. None: it takes part.
    """

    __tablename__ = "contest_player"
    __table_args__ = (
        UniqueConstraint("contest_id", "seed"),
        UniqueConstraint("contest_id", "bot_id"),
        ForeignKeyConstraint(["version_id", "bot_id"], ["bot_version.id", "bot_version.bot_id"]),
        CheckConstraint("seed >= 1", name="seed"),
        CheckConstraint("place >= 1", name="place"),
        CheckConstraint("gone_after >= 0", name="gone_after"),
        Index(None, "bot_id"),
    )

    contest_id: int = Field(foreign_key="contest.id", primary_key=True)
    version_id: int = Field(primary_key=True)
    bot_id: int
    seed: int
    place: int | None = None
    figures: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    gone_after: int | None = None


class Meeting(SQLModel, table=True):
    """Versions that meet in a round, or one alone, with a bye. `board`: its place in the round, from 1.

    `settled`: whether the points of its players are final. They never change after that: an organiser's later rulings
    concern the log of results, not a contest.
    """

    __table_args__ = (
        UniqueConstraint("contest_id", "round", "board"),
        CheckConstraint("round >= 1 AND board >= 1", name="place"),
    )

    id: int = Field(default=None, primary_key=True)
    contest_id: int = Field(foreign_key="contest.id")
    round: int
    board: int
    settled: bool = False


class MeetingPlayer(SQLModel, table=True):
    """A version in a meeting. `seat`: its place in the first match, from 0. `points`: None until they are final."""

    __tablename__ = "meeting_player"
    __table_args__ = (
        UniqueConstraint("meeting_id", "version_id"),
        CheckConstraint("seat >= 0", name="seat"),
    )

    meeting_id: int = Field(foreign_key="meeting.id", primary_key=True)
    seat: int = Field(primary_key=True)
    version_id: int = Field(foreign_key="bot_version.id")
    points: float | None = None
