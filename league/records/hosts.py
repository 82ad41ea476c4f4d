"""Records of the machines that play, for organisers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from deadheat.league.records import Record
from deadheat.league.states import Fitness, Found, Trust

SHOWN_DIGITS = 12
"""The number of digits of a game's hash that people see and compare."""


def slots(report: Mapping[str, Any]) -> int:
    """Return how many matches a machine plays at a time, which its keeper reports with each check."""
    return int(report.get("slots", 1))


@dataclass(frozen=True, slots=True)
class Worker(Record):
    """A machine that plays, and whether it may judge."""

    number: Annotated[int, Field(description="Its public number, see the export's `machine`.")]
    name: Annotated[str, Field(examples=["worker-1"])]
    image: Annotated[str, Field(examples=["deadheat/judge:core"])]
    fitness: Fitness
    judges: Annotated[bool, Field(description="Whether it would get a series now.")]
    reasons: Annotated[tuple[str, ...], Field(description="Why it is unfit; empty otherwise.")]
    disagreements: Annotated[
        tuple[str, ...], Field(description="Games that it does not play, because the API has other versions of them.")
    ]
    remarks: Annotated[
        tuple[str, ...], Field(description="What to fix there, although it does not stop the machine from judging.")
    ]
    since_at: Annotated[datetime, Field(description="Since when it has had this fitness.")]
    first_seen_at: datetime
    last_seen_at: datetime
    checked_at: datetime | None
    check_due_at: Annotated[
        datetime | None, Field(description="When it is checked again; null: only after something goes wrong.")
    ]
    incident_at: Annotated[datetime | None, Field(description="When it last became unfit.")]
    incident_ended_at: Annotated[
        datetime | None, Field(description="When it was fit again; null: it is not, or never became unfit.")
    ]
    incident: Annotated[
        Mapping[str, Any],
        Field(description="Why it last became unfit: `reasons`, and the `match_id` if a match showed it."),
    ]
    canary_at: Annotated[datetime | None, Field(description="Time of the newest check or canary match.")]
    steal_share: Annotated[float, Field(description="Share of its CPU time recently taken by the hypervisor, 0 to 1.")]
    busy_share: Annotated[float, Field(description="Share of its CPU time that was recently used, 0 to 1.")]
    held_by: Annotated[str, Field(description="Who else holds processors of its slots; empty: nobody.")]
    held_since_at: datetime | None
    series: Annotated[int, Field(description="Series finished there.")]
    voids: Annotated[int, Field(description="Void attempts at matches of those series.")]
    canaries: int
    canary_voids: Annotated[int, Field(description="Void attempts at canary matches.")]
    canary_failures: Annotated[int, Field(description="Canary matches with a wrong verdict.")]
    report: Annotated[Mapping[str, Any], Field(description="Facts and findings of the newest check.")]
    evidence: Annotated[
        Mapping[str, Any], Field(description="Evidence of the newest canary match with a wrong verdict.")
    ]

    @property
    def cures(self) -> dict[str, str]:
        """The remedies for the faults that its newest check found, by their texts in `reasons` and `remarks`."""
        return {item["text"]: item["mend"] for item in self.report.get("findings", ()) if item.get("mend")}

    @property
    def slots(self) -> int:
        """How many matches it plays at a time."""
        return slots(self.report)


@dataclass(frozen=True, slots=True)
class HttpMachine(Record):
    """A machine that plays over HTTP, by a token of its own."""

    name: str
    trust: Annotated[Trust, Field(description="What it may play.")]
    owner: Annotated[str, Field(description="Who lends it; empty: it is the league's.")]
    release: Annotated[str, Field(description="The release that it last ran; empty: it never began.")]
    created_at: datetime
    last_seen_at: datetime | None
    revoked_at: datetime | None
    found: Annotated[Found | None, Field(description="The verdict on what it played, if there is one.")]
    played_again: Annotated[int, Field(description="How many of its matches trusted machines played again.")]
    honest: Annotated[float, Field(description="At most this share of honest machines ever looks as bad.")]


@dataclass(frozen=True, slots=True)
class GameHere(Record):
    """A game of the league, as the API has it. `digest`: the SHA-256 over its folder."""

    name: str
    rules_version: int
    digest: str


@dataclass(frozen=True, slots=True)
class Workers(Record):
    """The most recently seen first. `judge_unfit`: whether this deployment lets unfit ones judge anyway."""

    items: list[Worker]
    judge_unfit: bool
    games: Annotated[
        list[GameHere],
        Field(description="The games as the API has them; a worker with another version of a game does not play it."),
    ]
    broken_games: Annotated[tuple[str, ...], Field(description="Folders of games that the API cannot use, and why.")]
