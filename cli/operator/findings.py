"""The findings of `deadheat doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deadheat.league.config import Settings


class Verdict(StrEnum):
    """The result of a check."""

    GOOD = "good"
    REMARK = "remark"  # works, but could be better
    WRONG = "wrong"


class MachineRole(StrEnum):
    """The task of this machine in a deployment."""

    ALL = "all"
    API = "api"
    SCHEDULER = "scheduler"
    CONTROL = "control"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report. `cure`: the remedy, if there is one."""

    about: str
    verdict: Verdict
    text: str
    cure: str = ""


Check = Callable[["Settings"], Iterator[Finding]]

CURES = {
    "database": "is it running, and is DEADHEAT_DATABASE_URL right?",
    "broker": "is it running, not full and not a replica, and is DEADHEAT_BROKER_URL right?",
    "blobs": "is DEADHEAT_BLOB_URL right, and may we write there (AWS_... for S3)?",
    "engine": "./scripts/bootstrap installs an engine, deploy/images/build builds the image",
}
"""The remedy for a part that cannot be reached at all, by part."""
