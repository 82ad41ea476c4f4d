"""Rankings and response times, both computed from matches."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Index
from sqlmodel import Field, SQLModel

from deadheat.league.states import Span
from deadheat.league.tables.columns import MOST_WORD, SHA256_HEX, UtcDateTime, index_where, json_column, word


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
