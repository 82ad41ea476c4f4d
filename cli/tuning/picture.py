"""The course of a search: a table with sparklines for the terminal, and a page in one file with charts."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from deadheat.cli.local import page
from deadheat.cli.local.page import shown
from deadheat.cli.output import Column, Columns, table
from deadheat.cli.tuning.state import Parameter, Step
from deadheat.cli.tuning.surface import Array, Surface
from deadheat.engine.figures import counted, nice

_Ends = tuple[float, float]
_Places = Sequence[_Ends]

BARS = " ▁▂▃▄▅▆▇█"
SPARK = 24
WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 24


def _slice(parameters: Sequence[Parameter], best: Sequence[float], number: int, surface: Surface, count: int) -> Array:
    """Return the expected scores along one parameter's range, with the best values of all others."""
    points = np.tile([p.share(value) for p, value in zip(parameters, best, strict=True)], (count, 1))
    points[:, number] = np.linspace(0, 1, count)
    return surface.expected(points)


def table_of(parameters: Sequence[Parameter], step: Step, surface: Surface) -> Table:
    """Return the result as a table, a row per parameter."""
    scores = [_slice(parameters, step.values, n, surface, SPARK) for n in range(len(parameters))]
    least, most = min(map(np.min, scores)), max(map(np.max, scores))

    def spark(number: int) -> str:
        heights = (scores[number] - least) / max(most - least, 0.01) * (len(BARS) - 2)
        return "".join(BARS[1 + round(height)] for height in heights)

    columns: Columns[int] = (
        Column("parameter", lambda n: parameters[n].name),
        Column("best", lambda n: f"{step.values[n]:.6g}", right=True),
        Column("±", lambda n: f"{step.widths[n]:.2g}", right=True),
        Column("from", lambda n: f"{parameters[n].low:g}", right=True),
        Column("expected score", spark, whole=True),
        Column("to", lambda n: f"{parameters[n].high:g}"),
    )
    return table(range(len(parameters)), columns)


def write(file: Path, bot: str, parameters: Sequence[Parameter], course: Sequence[Step], surface: Surface) -> Path:
    """Write the page, and return its file. Raises OSError."""
    page.save(file, page.page(f"Tuning of {bot}", _body(bot, parameters, course, surface)))
    return file


def _body(bot: str, parameters: Sequence[Parameter], course: Sequence[Step], surface: Surface) -> Iterator[str]:
    last = course[-1]
    best = ", ".join(f"{p.name} = {value:.6g}" for p, value in zip(parameters, last.values, strict=True))
    yield f'<h1>Tuning of {shown(bot)}</h1>\n<p class="result">{shown(best)}</p>\n'
    yield f'<p class="note">After {counted(last.games, "game")}. Expected scores flatter: these values were chosen for '
    yield "them. Only the fresh games in <code>check/report.html</code> tell their strength.</p>\n"
    for n, parameter in enumerate(parameters):
        ends, line = (parameter.low, parameter.high), [(step.games, step.values[n]) for step in course]
        over = [(step.games, min(step.values[n] + step.widths[n], parameter.high)) for step in course]
        under = [(step.games, max(step.values[n] - step.widths[n], parameter.low)) for step in course[::-1]]
        yield f"<h2>{shown(parameter.name)}</h2>\n<h3>Best value by games, and where it was sought</h3>\n"
        yield from _chart((0, last.games), ends, line, over + under)
        scores = 100 * _slice(parameters, last.values, n, surface, WIDTH // 10)
        yield "<h3>Expected score in % by value</h3>\n"
        yield from _chart(ends, (0, 100), [*zip(np.linspace(*ends, len(scores)), scores, strict=True)])


def _chart(across: _Ends, upward: _Ends, line: _Places, band: _Places = ()) -> Iterator[str]:
    """Yield a line on its axes, like the site's history of a rating."""

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - across[0]) / (across[1] - across[0])

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - upward[0]) / (upward[1] - upward[0])

    def path(places: _Places) -> str:
        return " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in places)

    yield f'<svg class="history" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
    for tick in (tick for tick in nice(*upward) if upward[0] <= tick <= upward[1]):
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        yield f'<text class="up" x="{LEFT - 6}" y="{y(tick) + 4:.1f}">{tick:g}</text>\n'
    for tick in (tick for tick in nice(*across) if across[0] <= tick <= across[1]):
        yield f'<text class="mid" x="{x(tick):.1f}" y="{HEIGHT - 6}">{tick:g}</text>\n'
    yield f'<polygon class="band" points="{path(band)}"/><polyline class="rating" points="{path(line)}"/></svg>\n'
