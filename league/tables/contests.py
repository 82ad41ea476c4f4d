"""Contests: all that is played beside the ladder, with fields, meetings and results."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Text, UniqueConstraint, false
from sqlmodel import Field, SQLModel

from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.states import ContestKind, ContestState
from deadheat.league.tables.columns import Staged, UtcDateTime, index_where, json_column, word


class Contest(Staged, table=True):
    """Meetings of a field of versions, until there are standings or a verdict. `matches`: of each meeting; `reason`: of
    its end.

    An evaluation, or a stage of the finals (their `number` counts both), has rounds and standings. `due_at`: its
    instant in the timetable, or when an organiser began it. `rated`: whether its matches count in the season's ranking.
    `stage`: its number among the stages, from 1. `keep`: how many advance. `further`: how often two may meet again
    (`league.pairing.tournament`). `rules`: the version of its tie-breaks, `tie_breaks`: those chosen in their place
    (`league.pairing.figures`).

    At a gate, at a request of somebody (`asker_id`) or against a panel, the first seed, `candidate_id`, meets each of
    the others once, unrated. `entry_id`: for which entry. `private`: who may see its matches
    (`league.service.series.privacy`). `terms`: those of the test (`league.sprt`; left out: there is none), and if it
    counts pairs (`paired`; left out: it does not); of a panel at the version's arrival also the names in it, the points
    needed (None: none), and whether its author has `chosen` the version by number, so that it plays as soon as it has
    passed. `result`: a panel's points, None before its end, the estimated performance (`elo`, `se`), None before its
    first match, and the `llr` of its test.

    `former_id`: the number that people know, if contests had others when it began (`public_id`).
    """

    __table_args__ = (
        UniqueConstraint("season_id", "number"),
        UniqueConstraint("season_id", "name", "due_at"),
        index_where(  # one at a time
            "ix_contest_running", "season_id", unique=True, where="state = 'running' AND number IS NOT NULL"
        ),
        CheckConstraint("(state = 'running') = (ended_at IS NULL)", name="ended"),
        CheckConstraint("number >= 1", name="number"),
        CheckConstraint("rounds >= 0", name="rounds"),
        CheckConstraint("matches >= 1", name="matches"),
        index_where("ix_contest_stage", "season_id", "stage", unique=True, where="stage IS NOT NULL"),
        CheckConstraint("stage >= 1", name="stage"),
        CheckConstraint("(kind = 'stage') = (stage IS NOT NULL)", name="stage_kind"),
        CheckConstraint("keep >= 1", name="keep"),
        CheckConstraint("further >= 0", name="further"),
        CheckConstraint("(kind IN ('evaluation', 'stage')) = (number IS NOT NULL)", name="evaluation"),
        CheckConstraint("(kind IN ('evaluation', 'stage')) = (candidate_id IS NULL)", name="candidate"),
        CheckConstraint("(kind IN ('gate', 'panel')) = (entry_id IS NOT NULL)", name="entry"),
        CheckConstraint("(kind = 'request') = (asker_id IS NOT NULL)", name="asker"),
        CheckConstraint("kind = 'request' OR NOT private", name="private"),
        Index(None, "season_id", "kind", "state"),
        index_where("ix_contest_entry_id", "entry_id", where="entry_id IS NOT NULL"),
        index_where("ix_contest_candidate_id", "candidate_id", where="candidate_id IS NOT NULL"),
        index_where("ix_contest_asker_id", "asker_id", "created_at", where="asker_id IS NOT NULL"),
        index_where("ix_contest_former_id", "kind", "former_id", unique=True, where="former_id IS NOT NULL"),
    )

    season_id: int = Field(foreign_key="season.id")
    kind: ContestKind = Field(sa_column=word(ContestKind, "kind"))
    number: int = Field(default=None, nullable=True)
    name: str = Field(default="", max_length=64)
    format: EvaluationFormat = Field(
        default=None, sa_column=word(EvaluationFormat, "format", nullable=True, checked=False)
    )
    rounds: int = 1
    matches: int
    rated: bool = False
    stage: int | None = None
    keep: int | None = None
    further: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    third_place: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    rules: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
    tie_breaks: list[str] | None = Field(default=None, sa_column=json_column(nullable=True))
    candidate_id: int = Field(default=None, foreign_key="bot_version.id", nullable=True)
    entry_id: int | None = Field(default=None, foreign_key="entry.id")
    asker_id: int | None = Field(default=None, foreign_key="user_account.id")
    private: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    former_id: int | None = None
    terms: dict[str, Any] = Field(default=None, sa_column=json_column(nullable=True))
    result: dict[str, Any] = Field(default=None, sa_column=json_column(nullable=True))
    state: ContestState = Field(default=ContestState.RUNNING, sa_column=word(ContestState, "state"))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    due_at: datetime = Field(default=None, sa_type=UtcDateTime, nullable=True)
    created_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    @property
    def public_id(self) -> int:
        """The number by which people know it. No two contests of a kind have the same."""
        return self.id if self.former_id is None else self.former_id


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
    concern the log of results, not a contest. (An evaluation's; other contests have a `score` instead.)

    `planned`: the games planned where the candidate of a contest meets one of the others. `score`: the `wins`, `draws`
    and `losses` of the finished ones from the candidate's side, and the `llr` (log-likelihood ratio) of the test, 0
    without one; and the `outcome` of a duel that is over (`league.words.Outcome`; a panel's has none). None in an
    evaluation.
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
    planned: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    score: dict[str, Any] = Field(default=None, sa_column=json_column(nullable=True))


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
