"""Ending a worker in order: first it goes on with what it does, then it hands that back.

SIGTERM lets a worker take nothing new (that is Celery's part). Who still plays or builds after a while gets `SIGNAL`:
at the next moment at which no bot's clock runs, the job is put back into the queue as if it had not been begun, with a
line in the ledger and without counting against it. So a restart costs some matches played twice, and never a result.
"""

from __future__ import annotations

import signal

SIGNAL = signal.SIGURG
"""Ignored by whoever does not listen, and left alone by Celery's pool, which takes most others for itself."""

_asked = False


class Stopping(Exception):
    """Whatever is being done is to be handed back."""


def listen() -> None:
    """In a process that carries out jobs: from now on, take note of the signal."""
    global _asked  # noqa: PLW0603  a signal's handler has nothing else to write to
    _asked = False
    signal.signal(SIGNAL, _note)


def look() -> None:
    """Raise Stopping if the time is over."""
    if _asked:
        raise Stopping


def _note(*_: object) -> None:
    global _asked  # noqa: PLW0603
    _asked = True
