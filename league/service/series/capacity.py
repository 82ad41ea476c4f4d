"""How many series may be open at a time, so that every slot has one to play.

The judging slots bound the series in progress, and as many may wait: the next planning is due long before those are
played. More would only delay the influence of new results on the pairing.
"""

from __future__ import annotations

from sqlmodel import Session

from deadheat.league.config import Settings
from deadheat.league.database import settings_of
from deadheat.league.service.series.hosts import judging_slots

OPEN_PER_SLOT = 2
"""One that runs, and one that waits to follow it."""


def open_series_bound(session: Session) -> int:
    """The most series of one season, gates aside, that may wait or run."""
    return bound_with(settings_of(session), judging_slots(session))


def bound_with(settings: Settings, slots: int) -> int:
    """The same for so many slots: the setting is what one of them needs."""
    return settings.open_series_limit + OPEN_PER_SLOT * max(0, slots - 1)
