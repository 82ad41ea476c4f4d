"""The geometry of the pictures in pages, which templates draw as SVG, coloured by the style sheet; and small pictures
within the lines of tables, which are functions, because macros take five times as long.

This takes few lines; libraries would need a style in the page, which our content security policy forbids, or a megabyte
of script (see docs/decisions/site.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup, escape

from deadheat.engine import figures
from deadheat.engine.figures import nice, used
from deadheat.engine.language import _
from deadheat.league.records.contests import Course
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
    step = TREND_WIDTH / (len(elos) - 1)
    places = [f"{step * number:.0f},{top - rise * elo:.0f}" for number, elo in enumerate(elos)]
    return Trend(" ".join(places), elos[-1] - elos[0])


def history(points: Sequence[HistoryPoint]) -> History | None:
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


def courses(all_courses: Sequence[Course]) -> Courses | None:
    """Compute the courses; None if nobody was in two evaluations."""
    numbers = sorted({number for course in all_courses for number, _ in course.places})
    if len(numbers) < 2:
        return None
    worst = max(place for course in all_courses for _, place in course.places)

    def x(number: int) -> float:
        return round(LEFT + (WIDTH - LEFT - NAMES) * numbers.index(number) / (len(numbers) - 1), 1)

    def y(place: int) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (place - 1) / max(worst - 1, 1), 1)

    ways = []
    for course in all_courses:
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


RISES_ELO = 10
"""A trend that changes by more than this has a colour."""


def interval(row: Mapping[str, Any], bar: figures.Bar) -> Markup:
    return Markup(figures.interval(row, bar))  # noqa: S704  figures


def spark(bars: Sequence[int], p99: float) -> Markup:
    """Draw the distribution of response times, from a thousandth of the limit on the left to the limit on the right;
    late ones are red and beyond it.
    """
    label = escape(_("99 of 100 answers within %(part)s of the limit", part=used(p99)))
    late = f'<path class="over" d="{_columns(bars[-1:], len(bars) - 1)}"/>' if bars[-1] else ""
    within = f'<path d="{_columns(bars[:-1], 0)}M43 18V0h1v18z"/>'
    return _svg("spark", (48, 18), f'viewBox="0 0 48 18" role="img" aria-label="{label}"', within + late)


def percent(share: float | None) -> str:
    """Format a share, 0 to 1, as a percentage with about two digits, however small."""
    return "\N{EN DASH}" if share is None else f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _columns(heights: Sequence[int], first: int) -> str:
    """Return the path of columns with these heights, 0 to 9, side by side from the place `first` on."""
    return "".join(
        f"M{4 * place} 18v-{2 * height}h3v{2 * height}z" for place, height in enumerate(heights, first) if height
    )


def trend_line(trend: Trend) -> Markup:
    """Draw a rating's course over the season. Its label says how much it has changed."""
    way = "up" if trend.change > RISES_ELO else "down" if trend.change < -RISES_ELO else ""
    about = f'viewBox="0 0 60 18" role="img" aria-label="{trend.change:+.0f}"'
    return _svg(f"trend {way}", (60, 18), about, f'<polyline points="{trend.line}"/>')


def fault_bar(row: Mapping[str, Any]) -> Markup:
    """Draw timeouts and other faults as parts of a bar that represents a tenth of the finished matches."""
    games = row["finished"] or 1
    late = min(600 * row["timeouts"] / games, 60)
    others = min(600 * row["other_faults"] / games, 60 - late)
    parts = f'<path class="late" d="M0 2h{late:.1f}"/>'
    parts += f'<path class="others" d="M{late:.1f} 2h{others:.1f}"/>'
    return _bar("faults", f'<path d="M0 2h60"/>{parts}')


def result_bar(won: int, drawn: int, lost: int) -> Markup:
    whole = won + drawn + lost or 1
    parts = f'<path class="drawn" d="M0 2h{60 * (won + drawn) / whole:.0f}"/>'
    parts += f'<path class="won" d="M0 2h{60 * won / whole:.0f}"/>'
    return _bar("results", f'<path class="lost" d="M0 2h60"/>{parts}')


def funnel_bar(players: int, first: int) -> Markup:
    """Draw the players of a stage as the middle of a bar that represents those of the first one."""
    width = max(1.0, 60 * players / first)
    return _bar("results", f'<path class="won" d="M{30 - width / 2:.1f} 2h{width:.1f}"/>')


def _bar(style: str, inside: str) -> Markup:
    return _svg(style, (60, 4), 'viewBox="0 0 60 4" aria-hidden="true"', inside)


def _svg(style: str, size: tuple[int, int], about: str, inside: str) -> Markup:
    width, height = size
    text = f'<svg class="{style}" width="{width}" height="{height}" {about}>{inside}</svg>'
    return Markup(text)  # noqa: S704  figures, and an escaped label


FILTERS = (interval, spark, used, percent, trend_line, fault_bar, result_bar, funnel_bar)
