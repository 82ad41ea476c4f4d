"""Stops a worker cleanly: at first it continues its work, then it hands the work back.

After SIGTERM a worker accepts nothing new (Celery ensures that). If it still plays or builds after a while, it gets
`SIGNAL`: at the next moment at which no bot's clock runs, the job goes back to the queue as if it had not begun; the
attempt is recorded but does not count against the job. So a restart costs a few replayed matches, but never a result.
"""

import signal

SIGNAL = signal.SIGURG
"""Ignored by processes that do not listen, and not used by Celery's pool, which uses most others."""

_asked = False


class Stopping(Exception):
    """The current work must be handed back."""


def listen() -> None:
    """Listen for the signal from now on, in a process that carries out jobs."""
    global _asked  # noqa: PLW0603  a signal's handler has nothing else to write to
    _asked = False
    signal.signal(SIGNAL, _note)


def look() -> None:
    """Raise Stopping if the signal has arrived."""
    if _asked:
        raise Stopping


def _note(*_: object) -> None:
    global _asked  # noqa: PLW0603
    _asked = True
