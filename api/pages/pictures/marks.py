"""Small pictures within the lines of tables. They are functions, because macros take five times as long, and a
leaderboard has hundreds of pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from deadheat.api.pages.pictures.charts import Trend
from deadheat.engine import intervals
from deadheat.engine.figures import used
from deadheat.engine.language import _

RISES_ELO = 10
"""A trend that changes by more than this has a colour."""


def interval(row: Mapping[str, Any], bar: intervals.Bar) -> Markup:
    return Markup(intervals.interval(row, bar))  # noqa: S704  figures


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
    """Draw timeouts and other faults as parts of a bar that represents a tenth of the games."""
    games = row["games"] or 1
    late = min(600 * row["timeouts"] / games, 60)
    others = min(600 * row["other_faults"] / games, 60 - late)
    parts = f'<path class="late" d="M0 2h{late:.1f}"/>'
    parts += f'<path class="others" d="M{late:.1f} 2h{others:.1f}"/>'
    return _bar("faults", f'<path d="M0 2h60"/>{parts}')


def result_bar(won: int, drawn: int, lost: int) -> Markup:
    """Draw won, drawn and lost games as parts of a bar."""
    whole = won + drawn + lost or 1
    parts = f'<path class="drawn" d="M0 2h{60 * (won + drawn) / whole:.0f}"/>'
    parts += f'<path class="won" d="M0 2h{60 * won / whole:.0f}"/>'
    return _bar("results", f'<path class="lost" d="M0 2h60"/>{parts}')


def _bar(style: str, inside: str) -> Markup:
    return _svg(style, (60, 4), 'viewBox="0 0 60 4" aria-hidden="true"', inside)


def _svg(style: str, size: tuple[int, int], about: str, inside: str) -> Markup:
    width, height = size
    text = f'<svg class="{style}" width="{width}" height="{height}" {about}>{inside}</svg>'
    return Markup(text)  # noqa: S704  figures, and an escaped label


FILTERS = (interval, spark, used, percent, trend_line, fault_bar, result_bar)
