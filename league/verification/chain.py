"""The chain of the audit log, pure: what a record's hash covers, so that anyone can recompute it.

A record's SHA-256 covers the record before it and its own fields as canonical JSON (keys sorted, no spaces, ASCII).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Protocol

GENESIS = "0" * 64
"""What the first record is chained to."""


class Chained(Protocol):
    """A record as stored or as read; of its fields all but its number and its own hash are covered."""

    @property
    def at(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def prev_sha256(self) -> str: ...


def record_sha256(record: Chained) -> str:
    """The `sha256` that a record must have: SHA-256 of the canonical JSON of its other fields."""
    fields = {
        "at": record.at,
        "actor": record.actor,
        "action": record.action,
        "subject": record.subject,
        "data": record.data,
        "prev": record.prev_sha256,
    }
    return hashlib.sha256(canonical(fields).encode()).hexdigest()


def canonical(value: Mapping[str, object]) -> str:
    """JSON in exactly one spelling."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
