"""Records of bots, their versions and builds."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import VersionState


@dataclass(frozen=True, slots=True)
class Bot(Record):
    """A bot. If it belongs to a team, all members share it."""

    id: int
    game: str
    name: Annotated[str, Field(examples=["greedy"])]
    author: Annotated[str, Field(examples=["ada"])]
    team_id: int | None
    team: Annotated[str | None, Field(examples=["lovelace"])]
    plays_people: Annotated[
        bool, Field(description="Whether people may play against the version that plays in a season.")
    ]
    versions: int
    description: str
    retired_at: Annotated[datetime | None, Field(description="When its author retired it; null: it is not retired.")]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Version(Record):
    """One upload and its state; poll it until it is `ready` or `broken`."""

    id: int
    bot_id: int
    number: int
    state: VersionState
    filename: Annotated[str, Field(examples=["bot.py"])]
    size_bytes: int
    sha256: str
    language: Annotated[str, Field(examples=["python"])]
    entry: Annotated[str, Field(examples=["main.py"])]
    reason: Annotated[str, Field(description="Why it is broken, or which failure of the service will be retried.")]
    attempt: Annotated[
        int, Field(description="How often a worker took it; more than one means that the service failed before.")
    ]
    created_at: datetime
    built_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether it is final."""
        return self.state in {VersionState.READY, VersionState.BROKEN}


@dataclass(frozen=True, slots=True)
class BuildTry(Record):
    """A build attempt that the service failed."""

    at: datetime
    cause: str
    detail: str


@dataclass(frozen=True, slots=True)
class BuildLog(Record):
    """A build's log, for the author only."""

    log: str
    tries: list[BuildTry]
