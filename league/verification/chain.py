"""The hash chain of the audit log, as pure functions, so that anyone can recompute it.

A record's SHA-256 covers the record before it and its own fields as canonical JSON (keys sorted, no spaces, ASCII).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from deadheat.league.records.rulings import AuditRecord

GENESIS = "0" * 64
"""The previous hash of the first record."""


def record_sha256(record: AuditRecord) -> str:
    """Return the `sha256` that a record must have: that of its other fields' canonical JSON, without the number."""
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
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
