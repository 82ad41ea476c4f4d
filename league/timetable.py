"""A season's timetable of evaluations: what an organiser declares, and when each is due.

This module is pure, as `league.terms` is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from deadheat.engine.figures import counted
from deadheat.engine.language import _, gettext
from deadheat.league.pairing.figures import CHOICE, named
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.terms import Date, SeasonName

MOST_DECLARED = 50
MOST_TIMES = 500
MOST_ROUNDS = 200
MOST_MATCHES = 100
MOST_MINUTES = 60 * 24 * 31


class DeclaredEvaluation(BaseModel):
    """One line of the timetable: an evaluation at stated times, or every so often from a start to an end."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True)

    name: SeasonName
    """What its evaluations are called."""

    format: EvaluationFormat
    """The format: who meets whom."""

    rounds: Annotated[int | None, Field(ge=1, le=MOST_ROUNDS)] = None
    """The rounds of a Swiss."""

    matches: Annotated[int, Field(ge=1, le=MOST_MATCHES)] = 2
    """Matches per meeting; with an even number, both sides are played equally often."""

    at: Annotated[list[Date], Field(max_length=MOST_TIMES)] = []
    """When it begins."""

    every_minutes: Annotated[int | None, Field(ge=1, le=MOST_MINUTES)] = None
    """How often it begins, from the first time to the last."""

    first_at: Annotated[Date | None, Field(alias="from")] = None
    """The first time."""

    last_at: Annotated[Date | None, Field(alias="until")] = None
    """The last time that it may begin."""

    counts: bool = False
    """Whether its matches count in the season's ranking, too."""

    tie_breaks: Annotated[list[str] | None, Field(min_length=1, max_length=len(CHOICE))] = None
    """What breaks ties, in order, and finally the seed. Left out: the usual order of its format."""

    @property
    def interval(self) -> str:
        """`every_minutes` in the largest unit of which it is exactly several: "24 hours", "7 days"."""
        minutes = self.every_minutes or 0
        units = ((60 * 24, "day"), (60, "hour"))
        exact = (counted(minutes // unit, name) for unit, name in units if minutes > unit and minutes % unit == 0)
        return next(exact, counted(minutes, "minute"))

    @property
    def words(self) -> str:
        """The line as a sentence."""
        rounds = [counted(self.rounds, "round")] if self.rounds else []
        what = ", ".join([gettext(self.format.rules.words), *rounds])
        each = _("%(matches)s per meeting", matches=counted(self.matches, "match", "matches"))
        when = ", ".join(stamp(at) for at in self.at)
        if self.every_minutes is not None and self.first_at and self.last_at:
            first, last = stamp(self.first_at), stamp(self.last_at)
            often = _("every %(time)s from %(at)s to %(last)s", time=self.interval, at=first, last=last)
            when = ", ".join(filter(None, (when, often)))
        ties = "; " + _("ties by %(names)s", names=named(self.tie_breaks)) if self.tie_breaks else ""
        return f"{self.name}: {what}, {each}, {when}{_('; counts') if self.counts else ''}{ties}"

    @property
    def faults(self) -> Iterator[str]:
        """The reasons why it is impossible at any time, as ends of sentences."""
        if self.format.rules.has_winner:
            yield _("a knock-out is played as a stage of the finals only")
        yield from self.format.rules.faults(self.rounds, self.tie_breaks)

    @property
    def time_faults(self) -> Iterator[str]:
        """The mistakes in its times, as ends of sentences."""
        span = (self.every_minutes, self.first_at, self.last_at)
        if None in span and any(bound is not None for bound in span):
            yield _("“every_minutes”, “from” and “until” belong together")
        elif self.first_at and self.last_at and self.last_at < self.first_at:
            yield _("“until” must not come before “from”")
        if not self.at and self.every_minutes is None:
            yield _("it needs times: either “at”, or “every_minutes” with “from” and “until”")

    def newest_due(self, since: datetime, at: datetime) -> datetime | None:
        """Return the last of its times after `since` that has come; None if there is none."""
        due = [time for time in self.at if since < time <= at]
        if self.every_minutes is not None and self.first_at and self.last_at and self.first_at <= at:
            step = timedelta(minutes=self.every_minutes)
            last = self.first_at + (min(at, self.last_at) - self.first_at) // step * step
            due += [last] if last > since else []
        return max(due, default=None)

    def next_due(self, at: datetime) -> datetime | None:
        """Return the first of its times that is still to come, or None."""
        due = [time for time in self.at if time > at]
        if self.every_minutes is not None and self.first_at and self.last_at:
            step = timedelta(minutes=self.every_minutes)
            coming = max(self.first_at, self.first_at + ((at - self.first_at) // step + 1) * step)
            due += [coming] if coming <= self.last_at else []
        return min(due, default=None)


def earliest_due(
    lines: Iterable[DeclaredEvaluation], since: Mapping[str, datetime], at: datetime
) -> tuple[datetime, DeclaredEvaluation] | None:
    """Return the earliest of the lines' newest times until `at`, with its line; None if none is due. `since`: by name,
    the instant after which its times are due.
    """
    due = [(time, line) for line in lines if (time := line.newest_due(since[line.name], at)) is not None]
    return min(due, key=itemgetter(0), default=None)


def next_after(lines: Iterable[DeclaredEvaluation], at: datetime) -> datetime | None:
    """Return the next time of any line after that instant."""
    return min(filter(None, (line.next_due(at) for line in lines)), default=None)


def stamp(at: datetime) -> str:
    """Return an instant in UTC to the minute, in the form for sentences."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def stored(declared: Iterable[DeclaredEvaluation]) -> list[dict[str, Any]]:
    """Return the timetable in the form that a season stores."""
    return [line.model_dump(mode="json", by_alias=True, exclude_defaults=True) for line in declared]


def timetable(kept: Sequence[dict[str, Any]] | None) -> list[DeclaredEvaluation]:
    """Read the timetable that a season stores."""
    return [DeclaredEvaluation.model_validate(row) for row in kept or ()]


def timetable_faults(declared: Sequence[DeclaredEvaluation]) -> Iterator[str]:
    """Yield the mistakes in a timetable as a whole and in each line, as ends of sentences."""
    names = [line.name.lower() for line in declared]
    if len(set(names)) < len(names):
        yield _("two of them have the same name")
    for line in declared:
        for fault in (*line.faults, *line.time_faults):
            yield f"{line.name}: {fault}"
