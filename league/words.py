"""Words of requests that API, command and services share."""

from __future__ import annotations

from enum import StrEnum


class Remedy(StrEnum):
    """What becomes of a match whose appeal is upheld."""

    NONE = "none"
    VOID = "void"
    REJUDGE = "rejudge"


class Exported(StrEnum):
    """The tables of a season that can be had as files."""

    MATCHES = "matches"
    PARTICIPANTS = "participants"
    LATENCIES = "latencies"
    ATTEMPTS = "attempts"
    ENTRIES = "entries"
