"""An organiser's answers about a new season, and its file: a preset, or the file of the season that it continues.

A preset is a whole season's file (`dashboards/site/seasons`) with names in braces for what depends on the answers: the
game's seats and all dates. Dates are written in the organiser's time zone.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, Field

from deadheat.api.services import SITE
from deadheat.engine.figures import wait
from deadheat.engine.games import GAMES
from deadheat.engine.language import _
from deadheat.league.errors import BadSetting
from deadheat.league.season_file import read, write
from deadheat.league.states import FinalsFormat
from deadheat.league.terms import Date, SeasonName
from deadheat.league.timetable import DeclaredEvaluation

SEATS = 4
"""At a table, or as near to it as the game allows. At larger ones, matches take longer and say less about a player."""

DAY = timedelta(days=1)

EVERY_MINUTES = (15, 30, 60, 120, 240, 480, 1440)
"""A contest has the most evaluations that begin so often and are not more than twelve, or else one a day."""

LocalTime = Annotated[Date, BeforeValidator(lambda text: f"{text}Z")]
"""A date of a time zone that is known later, in UTC until then."""


@dataclass(frozen=True, slots=True)
class When:
    """When a season opens and closes, and the time zone in which its dates are written."""

    opens_at: datetime
    closes_at: datetime
    zone: ZoneInfo

    @property
    def dates(self) -> dict[str, datetime]:
        """The dates of all steps: the last quarter, but at most a day, is frozen, and half of it is for the finals."""
        step = timedelta(minutes=10)
        frozen = min((self.closes_at - self.opens_at) / 4, DAY) // step * step
        later = {"freezes_at": self.closes_at - frozen, "finals_at": self.closes_at - frozen / 2}
        return {"opens_at": self.opens_at, **later, "closes_at": self.closes_at}

    def written(self, at: datetime) -> str:
        """Return an instant as local time, with its offset only if clocks are changed then."""
        local = at.astimezone(self.zone)
        clear = local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset()
        return (local.replace(tzinfo=None) if clear else local).isoformat()


class Answers(BaseModel):
    """The answers. If the season continues another, it has that one's kind and game."""

    name: SeasonName
    opens_at: LocalTime
    closes_at: LocalTime
    zone: Annotated[str, Field(max_length=64)] = "UTC"
    kind: Annotated[str, Field(pattern="^(ladder|contest|class)$")] = "contest"
    game: Annotated[str, Field(max_length=64)] = ""

    def when(self, shortest: timedelta = DAY / 24) -> When:
        """Return when the season is, which is `shortest` or longer. Raises BadSetting."""
        try:
            zone = ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError):
            raise BadSetting("zone", _("the server knows no such time zone; write one such as Asia/Seoul")) from None
        opens_at, closes_at = (at.replace(tzinfo=zone).astimezone(UTC) for at in (self.opens_at, self.closes_at))
        if closes_at - opens_at < shortest:
            time = wait(int(shortest.total_seconds()))
            raise BadSetting("closes_at", _("it must come at least %(time)s after the opening", time=time))
        return When(opens_at, closes_at, zone)


def weekend(now: datetime) -> dict[str, str]:
    """Return answers: the next weekend's hours, in any time zone; on a Saturday, those in a week."""
    saturday = now.replace(hour=10, minute=0, second=0) + DAY * (7 - (now.weekday() + 2) % 7)
    return {"opens_at": f"{saturday:%Y-%m-%dT%H:%M}", "closes_at": f"{saturday + timedelta(hours=32):%Y-%m-%dT%H:%M}"}


def preset_file(answers: Answers) -> str:
    """Return the file of a new season: complete, commented, and valid if there is such a game. Raises BadSetting."""
    when = answers.when(7 * DAY if answers.kind == "class" else DAY / 24)  # a week has two evaluations
    known = GAMES.get(answers.game)
    seats = min(known.seats, key=lambda count: abs(count - SEATS)) if known else 2
    often = (when.closes_at - when.opens_at) / timedelta(minutes=12)  # twelve evaluations, in minutes
    every = next((minutes for minutes in EVERY_MINUTES if minutes >= often), EVERY_MINUTES[-1])
    after = {"first_at": timedelta(minutes=every), "third_day": 2 * DAY, "sixth_day": 5 * DAY}
    dates = when.dates | {name: when.opens_at + time for name, time in after.items()}
    values: dict[str, object] = {"seats": seats, "every": every, "series": 5 * seats, "last": 25 * seats}
    values |= {name: json.dumps(getattr(answers, name), ensure_ascii=False) for name in ("name", "game", "zone")}
    values |= {name: when.written(at) for name, at in dates.items()}
    return (SITE / "seasons" / f"{answers.kind}.toml").read_text("utf-8").format_map(values)


def continued_file(answers: Answers, previous_id: int, previous: str) -> str:
    """Return the file of a season that continues the one with the file `previous`. Evaluations keep their distance from
    the opening, and are held until the freeze. Raises BadSetting.
    """
    when, declared = answers.when(), read(previous).declared
    lines = declared.evaluations or []
    first = [at for line in lines for at in (*line.at, line.first_at) if at is not None]
    later = when.opens_at - (declared.opens_at or min(first, default=when.opens_at))
    own: dict[str, object] = {"name": answers.name, "previous_id": previous_id, "timezone": answers.zone}
    own["evaluations"] = [_moved(line, later, when.dates["freezes_at"]) for line in lines]
    own["divisions"] = [(division.name, division.size) for division in declared.divisions or ()]
    if declared.finals is FinalsFormat.NONE:
        own["finals_at"] = None
    return write(dict(declared) | when.dates | own)


def _moved(line: DeclaredEvaluation, by: timedelta, until: datetime) -> DeclaredEvaluation:
    first = None if line.first_at is None else line.first_at + by
    span = {"first_at": first, "last_at": first and max(first, until)}
    return line.model_copy(update={"at": [at + by for at in line.at], **span})
