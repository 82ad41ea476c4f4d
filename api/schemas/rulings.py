"""The requests of organisers and appealing authors, and the lists that they see."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from deadheat.api.schemas.base import Input, Items, RowId
from deadheat.league.records.rulings import VersionVoids
from deadheat.league.words import Remedy

_SAYS_SOMETHING = r"\S"
"""The meaning of `min_length` after stripping, in a form that a schema can express."""

Sentence = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=1000)
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=4000)]


class Reason(Input):
    """The reason, public in the audit log."""

    reason: Sentence = Field(examples=["The referee's host ran out of memory."])


class Decision(Reason):
    """The seat that loses a held match."""

    seat: int = Field(ge=0, description="The loser's seat, from 0.")


class SeasonVoids(Items[VersionVoids]):
    """Flagged versions of a season, the least likely first."""


class AnnouncementRequest(Input):
    """A new announcement: about a season, or without `season` about the whole league."""

    season: RowId | None = None
    title: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=120)
    ]
    text: Text


class AppealRequest(Input):
    """An appeal: what is wrong with the match, in the author's words."""

    text: Text = Field(examples=["My bot answered SCORE within 20 ms in all other matches."])


class Ruling(Input):
    """An organiser's decision; `remedy` only if the appeal is upheld."""

    uphold: bool
    ruling: Sentence = Field(description="The reason, public in the audit log.")
    remedy: Remedy = Remedy.NONE

    @model_validator(mode="after")
    def _nothing_to_mend(self) -> Self:
        if not self.uphold and self.remedy is not Remedy.NONE:
            raise ValueError("a rejected appeal has no remedy")
        return self
