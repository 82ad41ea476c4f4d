"""Matches of people."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Index, LargeBinary, Text
from sqlmodel import Field

from deadheat.engine.core import Fault
from deadheat.league.states import JobState
from deadheat.league.tables.columns import MOST_WORD, SHA256_HEX, JobRow, UtcDateTime, json_column, word

SEATED = "(state IN ('queued', 'running') AND NOT resigned)"
"""The condition that an exhibition's person is seated."""


class Exhibition(JobRow, table=True):
    """A person's match against a bot, which has the other seats (see `league.service.jobs.exhibitions`). It belongs to
    no season.

    `open_user_id` and `open_place` are set while the person is seated: at most one match per person, and per place of
    the deployment. A person who resigns is free at once, while a worker may still write the record. `turn` counts the
    person's prompts; `answer` is the answer to the newest. `advise_at`: after the match, when a worker is to be asked
    for advice on it (see `league.service.jobs.advising`).
    """

    __table_args__ = (
        CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint(f"{SEATED} = (open_user_id IS NOT NULL)", name="open_user"),
        CheckConstraint(f"{SEATED} = (open_place IS NOT NULL)", name="open_place"),
        CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name="transcript"),
        CheckConstraint("seats >= 2", name="seats"),
        CheckConstraint("seat >= 0 AND seat < seats", name="seat"),
        Index(None, "user_id", "id"),
        Index(None, "state", "nudge_at"),
        Index(None, "finished_at"),
        Index(None, "advise_at"),
    )

    user_id: int = Field(foreign_key="user_account.id")
    version_id: int = Field(foreign_key="bot_version.id", index=True)
    game: str = Field(max_length=64)
    variant: list[str] | None = Field(default=None, sa_column=json_column(nullable=True))  # see league.terms
    seats: int
    seat: int  # the person's
    seed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    commitment: str = Field(max_length=SHA256_HEX)
    state: JobState = Field(default=JobState.QUEUED, sa_column=word(JobState, "state"))
    open_user_id: int | None = Field(default=None, unique=True)
    open_place: int | None = Field(default=None, unique=True)

    failures: int = 0  # failed attempts, without those handed back in order

    replies: str = Field(default="[]", sa_column=Column(Text, nullable=False))  # see engine.unfinished.write_replies
    turn: int = 0
    asked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    answer: str | None = Field(default=None, sa_column=Column(Text))
    waits_since_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # for a slot; None: it does not
    resigned: bool = False
    voids: int = 0  # how often a failure of the service restarted it
    cause: str = Field(default="", max_length=MOST_WORD)  # of the last failure

    ranks: list[int] | None = Field(default=None, sa_column=json_column(nullable=True))
    points: list[str] | None = Field(default=None, sa_column=json_column(nullable=True))
    fault: Fault | None = Field(default=None, sa_column=word(Fault, "fault", nullable=True))  # the person's
    transcript_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    advise_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    advice_tries: int = 0
    advice_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
