"""How many series may be open at a time, so that every slot has one to play.

The judging slots bound the series in progress, and as many may wait: planning is due again long before those are
played. More would only delay the influence of new results on the pairing.
"""

from __future__ import annotations

from sqlmodel import Session

from deadheat.league.service.series.hosts import judging_slots

OPEN_SERIES = 16
"""The number of series of one season that may wait or run while one slot judges."""

OPEN_PER_SLOT = 2
"""The number of series that each further slot adds: one that runs, and one that waits to follow it."""


def open_series_bound(session: Session) -> int:
    """Return the number of series of one season, gates aside, that may wait or run."""
    return bound_with(judging_slots(session))


def bound_with(slots: int) -> int:
    """Return the bound for that many judging slots."""
    return OPEN_SERIES + OPEN_PER_SLOT * max(0, slots - 1)
