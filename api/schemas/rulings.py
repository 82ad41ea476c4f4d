"""The shapes of what organisers and appealing authors send and see (the rest: `api.schemas`)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from api.schemas import Input, Output, RowId
from league.states import AppealState
from league.verification.chain import AuditEntry
from league.words import Remedy

_SAYS_SOMETHING = r"\S"
"""What `min_length` means once white space is taken away at both ends, said so that a schema can say it."""

Sentence = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=1000)
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=4000)]


class Reason(Input):
    """Why; it stands in the audit log for everyone."""

    reason: Sentence = Field(examples=["The referee's host ran out of memory."])


class Decision(Reason):
    """Who has lost a match that is held."""

    seat: int = Field(ge=0, description="The loser's, from 0.")


class VersionVoids(Output):
    """A version's void attempts in which it was to answer, and its series that failed as a whole, against those of the
    field on the same machines; among the league's newest attempts.
    """

    bot_id: int
    bot: str
    version: int
    version_id: int
    attempts: int = Field(description="At its matches, void ones included.")
    voids: int = Field(description="While it was to answer, and series that failed as a whole.")
    expected: float = Field(description="What it would have at the others' rates.")
    p_value: float = Field(description="Of as many or more by chance.")
    flagged: bool = Field(description="Whether they are so many that an organiser should look.")
    by_machine: dict[int, int] = Field(description="Its `voids` by machine, see the export's `machine`.")
    match_ids: list[int] = Field(
        description="Where they happened; of a series one match, on whose page the failure stands."
    )


class SeasonVoids(Output):
    """Of a season, the least likely first."""

    items: list[VersionVoids]


class RuledOn(Output):
    """A ruling that was made."""

    match_id: int
    changed: bool = Field(description="false: it was so already, and stays so for the reason given first.")


class Rejudged(Output):
    """The match that is played in the old one's place."""

    match_id: int


class AnnouncementRequest(Input):
    """`season` left out: about the whole league."""

    season: RowId | None = None
    title: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=120)
    ]
    text: Text


class Announcement(Output):
    """What an organiser tells everyone."""

    id: int
    season_id: int | None
    title: str
    text: str
    author: str
    at: datetime


class Announcements(Output):
    """The newest first."""

    items: list[Announcement]


class AppealRequest(Input):
    """What is wrong with the match, in the author's words."""

    text: Text = Field(examples=["My bot answered SCORE within 20 ms in all other matches."])


class Ruling(Input):
    """An organiser's decision; `remedy` only where the appeal is upheld."""

    uphold: bool
    ruling: Sentence = Field(description="Why; it stands in the audit log for everyone.")
    remedy: Remedy = Remedy.NONE

    @model_validator(mode="after")
    def _nothing_to_mend(self) -> Self:
        if not self.uphold and self.remedy is not Remedy.NONE:
            raise ValueError("an appeal that is rejected has no remedy")
        return self


class Appeal(Output):
    """An appeal as its author and organisers see it."""

    id: int
    match_id: int
    season_id: int
    bot_id: int
    bot: str
    state: AppealState
    text: str
    findings: dict[str, Any] = Field(description="What re-simulating the match found, with the attempts' evidence.")
    opened_at: datetime
    ruled_at: datetime | None
    ruled_by: str
    ruling: str


class Appeals(Output):
    """A page, the newest first."""

    items: list[Appeal]
    next: str | None = Field(description="Cursor of the next page.")


class AuditRecord(Output):
    """One decision. `sha256` covers the other fields and the record before it; docs/audit.md says how."""

    id: int
    at: str
    actor: str
    action: str
    subject: str
    data: str = Field(description="JSON, character for character as it was hashed.")
    prev_sha256: str
    sha256: str

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        """As the API says it."""
        assert isinstance(json.loads(entry.data), dict)
        return cls.model_validate(entry)


class AuditRecords(Output):
    """A page of the log."""

    items: list[AuditRecord]
    next: str | None = Field(description="Cursor of the next page.")
