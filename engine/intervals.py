"""Ratings' 95 % intervals as small SVG pictures in the lines of tables, on the site and in reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """A rating's interval as parts of the picture's width, 0 to 100."""

    low: float
    middle: float
    high: float


def bars(rows: Sequence[Mapping[str, Any]], scale: Sequence[float] = ()) -> list[Bar]:
    """Return each row's interval on a common scale. The scale contains these ratings, or if there are none those of the
    rows, with a margin of the rows' median interval at either end. Wider intervals of newcomers are cut off, because
    they would shrink all others to points.
    """
    if not rows:
        return []
    elos = scale or [row["elo"] for row in rows]
    room = median((row["high"] - row["low"]) / 2 for row in rows)
    least, most = min(elos) - room, max(elos) + room
    width = (most - least) or 1.0
    shares = [[100 * (row[name] - least) / width for name in ("low", "elo", "high")] for row in rows]
    return [Bar(*(round(min(max(share, 0.0), 100.0), 2) for share in three)) for three in shares]


def interval(row: Mapping[str, Any], bar: Bar) -> str:
    """Draw the interval of a row with the figures `low` and `high`. The style sheet gives the colours."""
    return (
        '<svg class="bar" width="120" height="12" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{row["low"]:.0f}\u2013{row["high"]:.0f}"><line x1="{bar.low}" x2="{bar.high}" y1="5" y2="5"/>'
        f'<line class="middle" x1="{bar.middle}" x2="{bar.middle}" y1="1" y2="9"/></svg>'
    )
