"""Checks whether the essential parts can be reached."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong

from deadheat.api.schemas.environment import Readiness
from deadheat.api.services import Services

log = logging.getLogger(__name__)

CHECK_SECONDS = 5
"""A part that does not answer within this time is not ready."""

_checks = ThreadPoolExecutor(max_workers=6, thread_name_prefix="readyz")


def readiness(shared: Services) -> Readiness:
    """Query the database, the blob store and the broker at once. Return "ok" for each, or why it cannot be reached."""
    parts: dict[str, Callable[[], None]] = {
        "database": shared.db.check,
        "blobs": shared.blobs.check,
        "broker": shared.queue.check,
    }
    waiting = {name: _checks.submit(check) for name, check in parts.items()}
    found = {}
    for name, check in waiting.items():
        try:
            check.result(CHECK_SECONDS)
            found[name] = "ok"
        except TookTooLong:
            found[name] = f"no answer within {CHECK_SECONDS} s"
        except Exception as error:  # any exception of a driver means that we are not ready
            log.warning("%s is not ready", name, exc_info=True)
            found[name] = f"cannot be reached ({type(error).__name__})"
    return Readiness(**found)
