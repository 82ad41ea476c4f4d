"""Records of organisers' decisions: rulings, appeals, announcements, the audit log, and excesses of void attempts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import AppealState


@dataclass(frozen=True, slots=True)
class VersionVoids(Record):
    """A version's void attempts while it was to answer, and its series that failed as a whole, compared with others on
    the same machines; among the league's newest attempts.
    """

    bot_id: int
    bot: str
    version: int
    version_id: int
    attempts: Annotated[int, Field(description="Attempts at its matches, including void ones.")]
    voids: Annotated[int, Field(description="Void attempts while it was to answer, and series that failed as a whole.")]
    expected: Annotated[float, Field(description="Expected number at the others' rate.")]
    p_value: Annotated[float, Field(description="Probability of as many or more by chance.")]
    flagged: Annotated[
        bool, Field(description="Whether an organiser should look into them, because there are so many.")
    ]
    by_machine: Annotated[Mapping[int, int], Field(description="Its `voids` by machine, see the export's `machine`.")]
    match_ids: Annotated[
        tuple[int, ...],
        Field(description="The matches concerned; for a series, one match whose page shows the failure."),
    ]


@dataclass(frozen=True, slots=True)
class RuledOn(Record):
    """A ruling that was made."""

    match_id: int
    changed: Annotated[bool, Field(description="false: nothing changed, and the first reason stands.")]


@dataclass(frozen=True, slots=True)
class Rejudged(Record):
    """The match that replaces the old one."""

    match_id: int


@dataclass(frozen=True, slots=True)
class Announcement(Record):
    """An organiser's announcement."""

    id: int
    season_id: int | None
    season: Annotated[str | None, Field(description="The season's name; null: it is about the whole league.")]
    title: str
    text: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Appeal(Record):
    """An appeal as its author and organisers see it."""

    id: int
    match_id: int
    season_id: int
    season: str
    bot_id: int
    bot: str
    state: AppealState
    text: str
    findings: Annotated[
        dict[str, Any], Field(description="Results of re-simulating the match, with the attempts' evidence.")
    ]
    opened_at: datetime
    ruled_at: datetime | None
    ruled_by: str
    ruling: str


@dataclass(frozen=True, slots=True)
class AuditRecord(Record):
    """One decision. `sha256` covers the other fields and the record before it (docs/how-to/rule-on-results.md)."""

    id: int
    at: str
    actor: str
    action: str
    subject: str
    data: Annotated[str, Field(description="JSON, character for character as it was hashed.")]
    prev_sha256: str
    sha256: str
