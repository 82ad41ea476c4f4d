"""The shapes of HTTP for operators: the machines that play."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.schemas import Output
from league.states import Fitness


class Worker(Output):
    """A machine that plays, and whether it may judge."""

    number: int = Field(description="By which everybody may know it, see the export's `machine`.")
    name: str = Field(examples=["worker-1"])
    image: str = Field(examples=["deadheat/judge:core"])
    fitness: Fitness
    judges: bool = Field(description="Whether it would be given a series now.")
    reasons: list[str] = Field(description="Why it is unfit; empty otherwise.")
    remarks: list[str] = Field(description="What makes judging dearer there.")
    since_at: datetime = Field(description="Since when it has that fitness.")
    first_seen_at: datetime
    last_seen_at: datetime
    checked_at: datetime | None
    check_due_at: datetime | None = Field(description="When it is checked again; null: not before something is amiss.")
    canary_at: datetime | None = Field(description="Of the newest check or canary match.")
    steal_share: float = Field(description="What its hypervisor took of its CPUs' time lately, 0 to 1.")
    series: int = Field(description="Finished there.")
    voids: int = Field(description="Attempts at matches of those series that were spoiled.")
    canaries: int
    canary_voids: int = Field(description="Attempts at canary matches that were spoiled.")
    canary_failures: int = Field(description="Canary matches with a wrong verdict.")
    report: dict[str, Any] = Field(description="Facts and findings of the newest check.")
    evidence: dict[str, Any] = Field(description="Of the newest canary match with a wrong verdict.")


class Workers(Output):
    """Those seen last first. `judge_unfit`: whether this deployment lets unfit ones judge all the same."""

    items: list[Worker]
    judge_unfit: bool
