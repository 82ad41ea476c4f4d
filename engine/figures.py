"""Durations, counts, seats, points, intervals, the marks of an axis and untrusted text as people read them."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Points, Seat
from deadheat.engine.language import _, ngettext

DECIMALS = 6
"""Points with at most this many decimal places are shown exactly, others to the thousandth."""

NORMAL_95 = 1.959963984540054

SHORTEST_NS = 5_000
"""Shorter durations would be rounded to 0.00 ms."""

STORED = re.compile(r"-?[0-9]{1,64}(/[1-9][0-9]{0,63})?")


def duration(value_ns: int) -> str:
    """Return a duration as people read it, at most 8 characters up to a quarter of an hour."""
    if value_ns >= NS_PER_S:
        return _("%(seconds)s s", seconds=f"{value_ns / NS_PER_S:.2f}")
    if value_ns >= 100 * NS_PER_MS:
        return f"{value_ns / NS_PER_MS:.0f} ms"
    if 0 < value_ns < SHORTEST_NS:
        return "<0.01 ms"
    return f"{value_ns / NS_PER_MS:.1f} ms" if value_ns >= NS_PER_MS else f"{value_ns / NS_PER_MS:.2f} ms"


def limit(value_ns: int) -> str:
    """Return a limit as the rules of games spell it."""
    if value_ns >= NS_PER_S:
        return _("%(seconds)s s", seconds=f"{value_ns / NS_PER_S:.3g}")
    return f"{value_ns / NS_PER_MS:.3g} ms"


def plural(count: int, noun: str, more: str = "") -> str:
    """Return a count with its noun, always in English: for stored texts and English sentences. `more` is the plural if
    it is not `noun` with an s.
    """
    return f"{count:,} {noun if count == 1 else more or f'{noun}s'}"


def counted(count: int, noun: str, more: str = "") -> str:
    """Return a count with its noun in the reader's language: "1 match", "2 matches"."""
    return ngettext(f"%(count)s {noun}", f"%(count)s {more or f'{noun}s'}", count) % {"count": f"{count:,}"}


def span(counts: range) -> str:
    """Return the counts from a range's first to its last: "2", or "3 to 6"."""
    return str(counts[0]) if len(counts) == 1 else _("%(first)s to %(last)s", first=counts[0], last=counts[-1])


UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))
"""The units in which `away` counts, in seconds."""


def away(seconds: float) -> str:
    """Say how far off an instant is, in its largest whole unit: "in 3 days", "2 hours ago"."""
    unit = next(((int(abs(seconds) // length), name) for name, length in UNITS if abs(seconds) >= length), None)
    spelled = counted(*unit) if unit else _("less than a minute")
    return _("in %(time)s", time=spelled) if seconds > 0 else _("%(time)s ago", time=spelled)


def wait(seconds: int) -> str:
    """Say how long to wait, rounded up, in the largest unit of which it is more than one: "90 s", "24 hours"."""
    unit = next(((-(-seconds // length), name) for name, length in UNITS if seconds > length), None)
    return counted(*unit) if unit else f"{seconds} s"


def seat_number(seat: Seat) -> int:
    """Return a seat as people read and type it, from 1; protocols, transcripts, JSON and logs count from 0."""
    return seat + 1


@lru_cache(maxsize=4096)  # a list of matches has the same few again and again
def points(value: Points | str) -> str:
    """Return points as a decimal: 91/2 as 45.5, 100/3 as 33.333. Stored text is parsed; other text is unchanged."""
    if isinstance(value, str) and not STORED.fullmatch(value):
        return value
    exact = Fraction(value)
    places = next((places for places in range(DECIMALS + 1) if not 10**places % exact.denominator), 3)
    number = round(exact * 10**places)
    digits = f"{abs(number):0{places + 1}}"
    return ("-" if number < 0 else "") + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def signed(value: float) -> str:
    """Return a difference with its sign: +1,500, -2.5, 0."""
    return f"{value:+,.12g}" if value else "0"


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share that was observed in `count` > 0 independent cases."""
    z2 = NORMAL_95**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = NORMAL_95 / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return 0.0 if share == 0 else max(0.0, centre - half), 1.0 if share == 1 else min(1.0, centre + half)


def used(part: float) -> str:
    """Format a share of a limit as a percentage with about two digits."""
    percent = 100 * part
    return _("under 0.1 %") if percent < 0.1 else f"{percent:.1f} %" if percent < 9.95 else f"{percent:.0f} %"


def nice(least: float, most: float, about: int = 5) -> Iterator[float]:
    """Yield round numbers from at most `least` to at least `most`, 1, 2 or 5 times a power of ten apart."""
    rough = max(most - least, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.floor(least / step), math.ceil(most / step)
    for place in range(first, max(last, first + 1) + 1):
        yield place * step


def visible(text: str, kept: str = "\t") -> str:
    """Spell out unprintable characters (controls, directions, marks without a width), except those in `kept`."""
    if text.isprintable():  # as nearly every text is; this saves time on a page of hundreds of names
        return text
    return "".join(
        mark if mark.isprintable() or mark in kept else mark.encode("unicode_escape").decode() for mark in text
    )


# Ratings' 95 % intervals as small SVG pictures in the lines of tables, on the site and in reports -----------------


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
    from statistics import median  # imported here: every command imports this module, and few draw intervals

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
