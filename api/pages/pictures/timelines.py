"""The geometry of the operator's charts: a figure over the last hour or day."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate, pairwise
from operator import attrgetter

from deadheat.api.pages import render
from deadheat.api.pages.pictures.charts import Mark, path
from deadheat.engine.figures import nice
from deadheat.engine.language import _
from deadheat.league.service.views.queues import Moment, Ran
from deadheat.sandbox.attribution import MAX_STEAL_SHARE

WIDTH, HEIGHT = 360, 120
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 10, 20
MOST_MACHINES = 12
"""The most machines with a chart of their own; the table lists all."""

LATE_MS = 50.0
"""The threshold of lateness: a tenth of half a second, the shortest limit of a move in our games."""

VOID_PERCENT = 1.0
"""The threshold that the page also marks in its figures."""

SAVED_PERCENT = 1.0
"""The threshold of the alert DeadheatHostsBusy."""

STEPS = {timedelta(hours=1): timedelta(minutes=1), timedelta(hours=24): timedelta(minutes=10)}
"""The time covered by one point, by the time that a chart shows."""

Figure = Callable[[Sequence[Moment]], float]


@dataclass(frozen=True, slots=True)
class _Point:
    """A value and its tooltip. `left`: the left edge of the strip that shows the tooltip."""

    across: float
    up: float
    left: float
    said: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A chart. `areas`: the layers of which its curve is the sum, from below; `lines`: its curve, interrupted
    where nothing is known; `dots`: values between two gaps; `threshold`: its height in the picture; `shown`:
    the last value with its unit; `alert`: the alert that says what to do about a value above the threshold.
    """

    title: str
    unit: str
    areas: list[str]
    lines: list[str]
    dots: list[tuple[float, float]]
    points: list[_Point]
    strip: float
    upward: list[Mark]
    across: list[Mark]
    threshold: Mark | None
    least: float
    most: float
    last: float
    shown: str
    amiss: bool
    alert: str = ""


def timelines(moments: Sequence[Moment], until: datetime, hours: int, names: Mapping[int, str]) -> list[Timeline]:
    """Return the league's charts, then one for each machine in `names` (by number) that played or was alive.
    Return none if nothing is known about that time.
    """
    length = timedelta(hours=hours)
    step = STEPS[length]
    bins: dict[int, list[Moment]] = {}
    for moment in moments:
        bins.setdefault(int((until - moment.at) / step), []).append(moment)
    binned = [(until - back * step, bins[back]) for back in sorted(bins, reverse=True)]  # until when
    if not binned:
        return []

    def chart(title: str, unit: str, figure: Figure, threshold: float | None = None, alert: str = "") -> Timeline:
        points = [(at, figure(some)) for at, some in binned]
        return replace(drawn(title, unit, points, until, length, step, threshold), alert=alert)

    def late(some: Sequence[Moment]) -> float:
        return 1000 * _worst(some, lambda ran: ran.late_seconds)

    def stolen(some: Sequence[Moment]) -> float:
        return 100 * _worst(some, lambda ran: ran.steal_share)

    def void(some: Sequence[Moment]) -> float:
        return _percent(some, "voids", "voids", "matches")

    def saved(some: Sequence[Moment]) -> float:
        return _percent(some, "saved", "replies")

    charts = [
        chart(_("Matches that ended, per minute"), "", lambda some: _rate(some, lambda ran: ran.matches)),
        chart(_("Waiting series"), "", lambda some: some[-1].waiting),
        chart(_("Void attempts"), "%", void, VOID_PERCENT, "DeadheatVoids"),
        chart(_("Taken from bots, per minute"), "s", lambda some: _rate(some, lambda ran: ran.stolen_seconds)),
        chart(_("Replies counted past the deadline"), "%", saved, SAVED_PERCENT, "DeadheatHostsBusy"),
        chart(_("Worst wake-up delay"), "ms", late, LATE_MS, "DeadheatRefereeLate"),
        chart(_("CPU steal"), "%", stolen, 100 * MAX_STEAL_SHARE, "DeadheatHostsBusy"),
        chart(_("CPU load"), "%", lambda some: 100 * _worst(some, lambda ran: ran.busy_share)),
    ]
    there = sorted({number for moment in moments for number in moment.machines} & names.keys())
    if len(there) < 2:
        return charts  # with one machine, its charts would repeat those of the league

    def rate_on(number: int, some: Sequence[Moment]) -> float:
        there = [moment.machines[number].matches for moment in some if number in moment.machines]
        return sum(there) / sum(moment.minutes for moment in some)

    for number in there[:MOST_MACHINES]:
        title = _("Matches that ended on %(machine)s, per minute", machine=names[number])
        charts.append(chart(title, "", partial(rate_on, number)))
    return charts


def _rate(some: Sequence[Moment], figure: Callable[[Ran], float]) -> float:
    return _total(some, figure) / sum(moment.minutes for moment in some)


def _total(some: Sequence[Moment], figure: Callable[[Ran], float]) -> float:
    return sum(figure(ran) for moment in some for ran in moment.machines.values())


def _worst(some: Sequence[Moment], figure: Callable[[Ran], float]) -> float:
    return max((figure(ran) for moment in some for ran in moment.machines.values()), default=0.0)


def _percent(some: Sequence[Moment], part: str, *whole: str) -> float:
    return 100 * _total(some, attrgetter(part)) / (sum(_total(some, attrgetter(name)) for name in whole) or 1)


def drawn(
    title: str,
    unit: str,
    points: Sequence[tuple[datetime, float]],
    until: datetime,
    length: timedelta,
    step: timedelta,
    threshold: float | None = None,
    layers: Sequence[Sequence[float]] = (),
    least: float = 1.0,
) -> Timeline:
    """Return the chart of values over a time of this `length`; between two of them that are more than a `step` apart,
    nothing is known. `layers`: the parts of which each value is the sum. `least`: the scale reaches at least this.
    """
    values = [value for _, value in points]
    ticks = list(nice(0.0, max(*values, threshold or 0.0, least), 2))
    top = max(ticks[-1], *values)
    begin, seconds = until - length, length.total_seconds()
    form = "%H:%M" if length <= timedelta(hours=24) else "%d %b"

    def x(at: datetime) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (at - begin).total_seconds() / seconds, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)

    # Each layer lies on those below it.
    sums = [[y(value) for value in accumulate(parts, initial=0.0)] for parts in layers]
    edges = [[*zip([x(at) for at, _ in points], edge, strict=True)] for edge in zip(*sums, strict=True)]
    parts: list[list[tuple[float, float]]] = []
    before = None
    for at, value in points:
        if before is None or at - before > 1.5 * step:
            parts.append([])
        parts[-1].append((x(at), y(value)))
        before = at
    strip = (WIDTH - LEFT - RIGHT) * step.total_seconds() / seconds
    marks = [begin + timedelta(seconds=seconds * part / 4) for part in range(5)]
    return Timeline(
        title=title,
        unit=unit,
        areas=[path(upper + lower[::-1]) for lower, upper in pairwise(edges)],
        lines=[path(part) for part in parts if len(part) > 1],
        dots=[part[0] for part in parts if len(part) == 1],
        points=[
            _Point(x(at), y(value), round(x(at) - strip / 2, 1), f"{at.strftime(form)}: {_with(value, unit)}")
            for at, value in points
        ],
        strip=round(strip, 1),
        upward=[Mark(y(tick), f"{tick:g}") for tick in ticks],
        across=[Mark(x(at), at.strftime(form)) for at in marks],
        threshold=None if threshold is None else Mark(y(threshold), _with(threshold, unit)),
        least=min(values),
        most=max(values),
        last=values[-1],
        shown=_with(values[-1], unit),
        amiss=threshold is not None and values[-1] > threshold,
    )


def _with(value: float, unit: str) -> str:
    return f"{render.figure(value)} {unit}".strip()
