"""The machines that play, and their environments."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index
from sqlmodel import Field, SQLModel

from deadheat.league.states import Fitness, Found, Trust
from deadheat.league.tables.columns import SHA256_HEX, UtcDateTime, index_where, json_column, word


class JudgingEnvironment(SQLModel, table=True):
    """The description of a judge image, by a worker's host. The newest one of the image in use is shown."""

    __tablename__ = "judging_environment"
    __table_args__ = (Index(None, "image", "described_at"),)

    fingerprint: str = Field(primary_key=True, max_length=SHA256_HEX)  # equal descriptions are one row
    image: str = Field(max_length=256)
    document: dict[str, Any] = Field(sa_column=json_column())
    worker: str = Field(max_length=128)
    described_at: datetime = Field(sa_type=UtcDateTime)


class Machine(SQLModel, table=True):
    """The public number of a machine that plays; only operators see its name. It is never removed, so a number always
    means the same machine.
    """

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=128, unique=True)


class MachineAccess(SQLModel, table=True):
    """A machine that plays over HTTP (see `league.service.machines.access`). `owner_id`: whose it is; None: the
    league's. `release`: what it last ran. `found`: the verdict on it, for which what it played is played again until
    `replayed_at`. What else is known of it stands in `WorkerHost`, by the same name.
    """

    __tablename__ = "machine_access"

    name: str = Field(primary_key=True, max_length=128)
    sha256: str = Field(max_length=SHA256_HEX, unique=True)  # of its token
    trust: Trust = Field(sa_column=word(Trust, "trust"))
    owner_id: int | None = Field(default=None, foreign_key="user_account.id")
    release: str = Field(default="", max_length=32)
    created_at: datetime = Field(sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    found: Found | None = Field(default=None, sa_column=word(Found, "found", nullable=True))
    replayed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class PlayedAgain(SQLModel, table=True):
    """A match of a machine of low trust that a trusted one plays again, twice, from `due_at` (see
    `league.checking.duplicates`). `favourite`: the seat that was rated highest before. `coins`: None until then, and
    news until they are `weighed`.
    """

    __tablename__ = "played_again"
    __table_args__ = (
        index_where("ix_played_again_due_at", "due_at", where="coins IS NULL"),
        index_where("ix_played_again_news", "machine", where="coins IS NOT NULL AND NOT weighed"),
    )

    match_id: int = Field(foreign_key="match.id", primary_key=True)
    machine: str = Field(foreign_key="machine_access.name", max_length=128, index=True)
    favourite: int | None = None
    due_at: datetime = Field(sa_type=UtcDateTime)
    coins: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    weighed: bool = False


class LeagueGame(SQLModel, table=True):
    """A game of the league, as the API has it (see `league.service.series.games`)."""

    __tablename__ = "league_game"

    name: str = Field(primary_key=True, max_length=64)
    rules_version: int
    digest: str = Field(max_length=SHA256_HEX)  # of the game's folder


class WorkerHost(SQLModel, table=True):
    """A machine that plays and its fitness to judge (see `league.service.series.hosts`). `reasons`: why it is unfit.

    `games`: by name, the rules version and digest with which it began. `incident`: why it last became unfit, as
    `reasons`, and the `match_id` if a match showed it.
    """

    __tablename__ = "worker_host"
    __table_args__ = (
        CheckConstraint("fitness = 'unchecked' OR checked_at IS NOT NULL", name="checked"),
        CheckConstraint("steal_share BETWEEN 0 AND 1", name="steal_share"),
    )

    name: str = Field(primary_key=True, max_length=128)
    boot: str = Field(max_length=64)  # the boot of the machine to which all this refers
    image: str = Field(default="", max_length=256)  # the image of its boxes
    games: dict[str, Any] = Field(default_factory=dict, sa_column=json_column())
    fitness: Fitness = Field(default=Fitness.UNCHECKED, sa_column=word(Fitness, "fitness"))
    since_at: datetime = Field(sa_type=UtcDateTime)  # when it reached that fitness
    reasons: list[str] = Field(default_factory=list, sa_column=json_column())
    report: dict[str, Any] = Field(default_factory=dict, sa_column=json_column())  # of the newest check
    evidence: dict[str, Any] = Field(default_factory=dict, sa_column=json_column())  # of the last canary gone wrong
    first_seen_at: datetime = Field(sa_type=UtcDateTime)
    last_seen_at: datetime = Field(sa_type=UtcDateTime)
    unfit_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # when it was last found unfit
    checked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    check_due_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # None: no further check is wanted
    incident_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # when it last became unfit
    incident_ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # when it was fit again
    incident: dict[str, Any] = Field(default_factory=dict, sa_column=json_column(server_default="{}"))
    canary_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    steal_share: float = 0.0  # share of its CPUs' recent time that the hypervisor took
    late_seconds: float = Field(default=0.0, sa_column_kwargs={"server_default": "0"})  # how late it woke up, at worst
    busy_share: float = Field(default=0.0, sa_column_kwargs={"server_default": "0"})  # of its CPUs' recent time
    held_by: str = Field(default="", max_length=400, sa_column_kwargs={"server_default": ""})  # processors, by others
    held_since_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    series: int = 0  # finished there
    series_since_canary: int = 0
    voids: int = 0  # attempts at those series' matches
    canaries: int = 0
    canary_voids: int = 0
    canary_failures: int = 0


class Sample(SQLModel, table=True):
    """The league's state in one minute, for the operator's charts (see `league.service.views.queues`)."""

    at: datetime = Field(primary_key=True, sa_type=UtcDateTime)  # the minute
    attempt: int  # the newest attempt that was counted
    minutes: float  # since the sample before
    waiting: int  # series
    machines: dict[str, Any] = Field(sa_column=json_column())  # by number: the fields of `Ran`, in their order
