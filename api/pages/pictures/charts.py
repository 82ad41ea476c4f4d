"""The geometry of the pictures in pages. Templates draw them as SVG, coloured by the style sheet.

This takes few lines; libraries would need a style in the page, which our content security policy forbids, or a megabyte
of script (see docs/decisions/site.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from deadheat.engine.figures import nice
from deadheat.league.records.evaluations import Course
from deadheat.league.service.rankings.history import HistoryPoint

WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 22, 24
"""The margins for the labels, in the same units."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A label on an axis, or the beginning of a version. `at`: the instant of which the label tells, in ISO 8601."""

    place: float
    label: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """A rating over time. `band` is the outline of the interval, `line` the rating."""

    band: str
    line: str
    last: tuple[float, float]
    across: list[Mark]
    upward: list[Mark]
    versions: list[Mark]


TREND_WIDTH, TREND_HEIGHT = 60, 18
TREND_ELO = 60.0
"""The least difference that the height of a trend represents, so that noise looks like noise."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A rating's course in a few points. `change`: from the first to the last, in Elo."""

    line: str
    change: float


def trend(elos: Sequence[float]) -> Trend | None:
    """Compute a trend; None if there are fewer than two points."""
    if len(elos) < 2:
        return None
    middle, height = (min(elos) + max(elos)) / 2, max(max(elos) - min(elos), TREND_ELO)
    room = TREND_HEIGHT - 2
    top, rise = 1 + room * (0.5 + middle / height), room / height
    places = zip(_across(len(elos)), elos, strict=True)
    return Trend(" ".join([f"{across},{top - rise * elo:.0f}" for across, elo in places]), elos[-1] - elos[0])


@cache
def _across(points: int) -> list[str]:
    return [f"{TREND_WIDTH * number / (points - 1):.0f}" for number in range(points)]


def history(points: Sequence[HistoryPoint]) -> History | None:
    """Compute a history; None if there are fewer than two points."""
    if len(points) < 2 or points[0].at == points[-1].at:
        return None
    first, span = points[0].at, (points[-1].at - points[0].at).total_seconds()
    ticks = list(nice(min(point.low for point in points), max(point.high for point in points)))
    least, most = ticks[0], ticks[-1]

    def x(at: datetime) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (at - first).total_seconds() / span, 1)

    def y(elo: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (elo - least) / (most - least), 1)

    places = [x(point.at) for point in points]
    over, under, line = (
        [(place, y(getattr(point, name))) for place, point in zip(places, points, strict=True)]
        for name in ("high", "low", "elo")
    )
    return History(
        band=path(over + under[::-1]),
        line=path(line),
        last=line[-1],
        across=[Mark(x(at), label, f"{at:%Y-%m-%dT%H:%M:%SZ}") for at, label in _times(first, span)],
        upward=[Mark(y(tick), f"{tick:g}") for tick in ticks],
        versions=[Mark(x(at), f"v{number}") for at, number in _versions(points)],
    )


@dataclass(frozen=True, slots=True)
class Way:
    """A bot's places from evaluation to evaluation. `end`: the place of its name."""

    bot: str
    line: str
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Courses:
    """The ways of several bots, with the first place at the top."""

    ways: list[Way]
    across: list[Mark]
    upward: list[Mark]


NAMES = 130


def courses(found: Sequence[Course]) -> Courses | None:
    """Compute the courses; None if nobody was in two evaluations."""
    numbers = sorted({number for course in found for number, _ in course.places})
    if len(numbers) < 2:
        return None
    worst = max(place for course in found for _, place in course.places)

    def x(number: int) -> float:
        return round(LEFT + (WIDTH - LEFT - NAMES) * numbers.index(number) / (len(numbers) - 1), 1)

    def y(place: int) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (place - 1) / max(worst - 1, 1), 1)

    ways = []
    for course in found:
        line = [(x(number), y(place)) for number, place in course.places]
        ways.append(Way(course.bot, path(line), line[-1]))
    step = -(-len(numbers) // 12)
    few = sorted({1, worst} | set(range(5, worst, max(5, -(-worst // 50) * 10))))
    return Courses(
        ways,
        [Mark(x(number), str(number)) for number in numbers[::step]],
        [Mark(y(place), str(place)) for place in few],
    )


def path(places: Sequence[tuple[float, float]]) -> str:
    """Return the points of a line or an outline, as SVG spells them."""
    return " ".join(f"{x:g},{y:g}" for x, y in places)


def _times(first: datetime, span: float) -> Iterator[tuple[datetime, str]]:
    form = "%H:%M:%S" if span < 600 else "%H:%M" if span < 86_400 else "%d %b %H:%M" if span < 5 * 86_400 else "%d %b"
    for part in range(5):
        at = first + timedelta(seconds=span * part / 4)
        yield at, at.strftime(form)


def _versions(points: Sequence[HistoryPoint]) -> Iterator[tuple[datetime, int]]:
    """Yield the time from which each version was rated."""
    number = None
    for point in points:
        if point.version != number:
            yield point.at, point.version
        number = point.version
