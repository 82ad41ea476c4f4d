"""A season's timetable at the desk: in the preview of its file, and on its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from deadheat.api.pages.render import instant
from deadheat.engine.figures import away
from deadheat.engine.language import gettext
from deadheat.league.records.seasons import DeclaredDate
from deadheat.league.states import SEASON_STEPS, SeasonState


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the timetable. `utc`: its date, or when it comes if it has none. `local` is empty if it is the same."""

    label: str
    at: datetime | None
    utc: str
    local: str
    away: str
    next: bool


PAST = {f"dates.{step.date}": (state, step.past) for state, step in SEASON_STEPS.items()}
"""The states that seasons reach by date, and the labels of these dates in the past, by their place in a file."""


def steps(
    dates: Sequence[DeclaredDate], timezone: str | None, now: datetime, reached: SeasonState = SeasonState.CLOSED
) -> list[Step]:
    """Return the lines for a reader at `now`, also in the time zone if it differs from UTC on any of the dates.
    `reached`: the season's state; a date that has passed without effect keeps its label.
    """
    zone = ZoneInfo(timezone) if timezone else None
    if zone is None or not any(date.at and date.at.astimezone(zone).utcoffset() for date in dates):
        zone = None
    coming = min((date.at for date in dates if date.at and date.at > now), default=None)
    done = {path: past for path, (state, past) in PAST.items() if not state.is_after(reached)}
    return [_step(date, zone, now, done, date.at is not None and date.at == coming) for date in dates]


def _step(date: DeclaredDate, zone: ZoneInfo | None, now: datetime, done: Mapping[str, str], coming: bool) -> Step:
    if date.at is None:
        return Step(gettext(date.label), None, gettext(date.otherwise), "", "", next=False)
    label = gettext(date.label if date.at > now else done.get(date.path, date.label))
    local = f"{date.at.astimezone(zone):%Y-%m-%d %H:%M %Z}" if zone else ""
    return Step(label, date.at, instant(date.at.astimezone(UTC)), local, away((date.at - now).total_seconds()), coming)
