"""Draw the diagrams of the docs:

    python -m tests.docs.diagrams

writes docs/pictures/*.svg: the processes of a league, a season's states with the steps that the code allows, and three
answers on a timeline. A drawing adapts to a dark screen by itself.
"""

from collections.abc import Iterator
from pathlib import Path

from deadheat.engine.core import NS_PER_MS
from deadheat.league.states import SEASON_STEPS, SeasonState, allowed
from deadheat.sandbox.attribution import SETTLE_NS
from tests.cli.command import ROOT

PICTURES = ROOT / "docs" / "pictures"
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #171b21; }
.note { font-size: 12px; fill: #545e6b; }
.box { fill: #ffffff; stroke: #1c56b0; stroke-width: 1.5; }
.store { fill: #eceff3; stroke: #545e6b; stroke-width: 1.5; }
.line { fill: none; stroke: #545e6b; stroke-width: 1.5; }
.head { fill: #545e6b; }
.runs { fill: #1c56b0; }
.waits { fill: #c24300; }
.limit { stroke: #b02a18; stroke-width: 1.5; stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ee; }
  .note { fill: #9ba6b3; }
  .box { fill: #181c22; stroke: #8cb8ff; }
  .store { fill: #20262e; stroke: #9ba6b3; }
  .line, .limit { stroke: #9ba6b3; }
  .head { fill: #9ba6b3; }
  .runs { fill: #5a93f5; }
  .waits { fill: #f77f2e; }
}
"""


def drawing(width: int, height: int, *parts: str) -> str:
    head = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    defined = f'<defs>{head}<path class="head" d="M0 0L8 4L0 8z"/></marker><style>{STYLE}</style></defs>'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{defined}\n' + "\n".join(parts) + "\n</svg>\n"


def box(x: int, y: int, width: int, title: str, note: str = "", kind: str = "box") -> str:
    """Return a box of two lines, whose middle is at x."""
    left, height = x - width // 2, 52 if note else 36
    shape = f'<rect class="{kind}" x="{left}" y="{y}" width="{width}" height="{height}" rx="8"/>'
    return shape + text(x, y + 23, title) + (text(x, y + 41, note, "note") if note else "")


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def arrow(*points: tuple[int, int], words: str = "", above: int = 6) -> str:
    """Return an arrow along the points, named above the middle of its first piece."""
    path = "M" + "L".join(f"{x} {y}" for x, y in points)
    (x0, y0), (x1, y1) = points[:2]
    name = text((x0 + x1) / 2, (y0 + y1) / 2 - above, words, "note") if words else ""
    return f'<path class="line" marker-end="url(#head)" d="{path}"/>{name}'


def processes() -> str:
    """Return the processes of a league and what passes between them."""
    return drawing(
        720,
        345,
        box(75, 20, 130, "people", "browser, command"),
        box(280, 20, 150, "API", "site, requests"),
        box(520, 20, 150, "scheduler", "plans, ranks, sweeps"),
        box(280, 140, 150, "database", "all but transcripts", "store"),
        box(520, 140, 150, "queue", "says where to look", "store"),
        box(280, 258, 150, "store", "transcripts, uploads", "store"),
        box(520, 258, 150, "workers", "build and play"),
        box(660, 140, 100, "monitor", "fit to judge?"),
        box(70, 258, 120, "rooms", "one bot each"),
        arrow((140, 46), (203, 46), words="HTTP"),
        arrow((280, 72), (280, 138)),
        text(288, 108, "rows", "note", "start"),
        arrow((520, 72), (520, 138)),
        text(528, 108, "jobs", "note", "start"),
        arrow((355, 60), (443, 140)),
        arrow((475, 72), (345, 138)),
        arrow((520, 192), (520, 256)),
        text(528, 228, "number of a job", "note", "start"),
        arrow((445, 270), (345, 192)),
        text(372, 240, "results", "note", "end"),
        arrow((443, 290), (357, 290)),
        arrow((660, 192), (660, 284), (597, 284)),
        arrow((480, 310), (480, 334), (70, 334), (70, 312)),
        text(250, 329, "lines of the protocol", "note"),
    )


def season() -> str:
    """Return a season's states from left to right, with every step that is allowed."""
    order = list(SeasonState)
    place = {state: 66 + 156 * at for at, state in enumerate(order)}
    parts = [box(place[state], 90, 116, state.value) for state in order]
    for number, (before, after) in enumerate(_steps()):
        start, end = order.index(before), order.index(after)
        if end == start + 1:
            y, words = 108, f"season {SEASON_STEPS[after].command}"
            parts.append(arrow((place[before] + 58, y), (place[after] - 60, y)))
            parts.append(text((place[before] + place[after]) / 2, 82, words, "note"))
        else:
            up = end > start
            y = (64 - 14 * (end - start - 1) - 4 * start) if up else 150
            edge = 90 if up else 126
            shift = 10 * (number % 4) - 15
            parts.append(
                arrow(
                    (place[before] + shift, edge),
                    (place[before] + shift, y),
                    (place[after] + shift, y),
                    (place[after] + shift, edge + (-2 if up else 2)),
                )
            )
    return drawing(
        790, 190, *parts, text(395, 180, "A step is taken by a command or a button, or at its date.", "note")
    )


def _steps() -> Iterator[tuple[SeasonState, SeasonState]]:
    for before in SeasonState:
        yield from ((before, after) for after in SeasonState if allowed(before, after))


LIMIT_MS = 500
SETTLE_MS = SETTLE_NS // NS_PER_MS
ANSWERS = (
    ("in time", ((0, 200, "runs"), (200, 300, "waits"), (300, 540, "runs")), "540 - 100 = 440 ms of own time"),
    ("timeout", ((0, LIMIT_MS + SETTLE_MS, "runs"),), f"no answer at {LIMIT_MS + SETTLE_MS} ms of own time"),
    (
        "timeout",
        ((0, 250, "runs"), (250, 300, "waits"), (300, LIMIT_MS + 50 + SETTLE_MS, "runs")),
        f"no answer at {LIMIT_MS + 50 + SETTLE_MS} - 50 = {LIMIT_MS + SETTLE_MS} ms of own time",
    ),
)
"""Verdict, pieces of time (from, to, what the bot did), and why."""


def own_time() -> str:
    """Return three answers to a limit of 500 ms."""

    def at(ms: int) -> float:
        return 30 + ms * 0.85

    parts = [text(at(ms), 24, f"{ms} ms", "note") for ms in range(0, 601, 100)]
    parts.append(f'<path class="limit" d="M{at(LIMIT_MS)} 30V262"/>')
    for row, (verdict, pieces, why) in enumerate(ANSWERS):
        y = 44 + 74 * row
        for start, end, kind in pieces:
            parts.append(
                f'<rect class="{kind}" x="{at(start)}" y="{y}" width="{at(end) - at(start)}" height="22" rx="3"/>'
            )
        parts.append(text(at(0), y + 42, f"{verdict}: {why}", "", "start"))
    parts += [
        '<rect class="runs" x="30" y="266" width="22" height="14"/>',
        text(60, 278, "the bot runs, or waits for something of its own", "note", "start"),
        '<rect class="waits" x="350" y="266" width="22" height="14"/>',
        text(380, 278, "the host took this time", "note", "start"),
    ]
    return drawing(600, 292, *parts)


DRAWINGS = {"processes.svg": processes, "season-states.svg": season, "own-time.svg": own_time}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        Path(PICTURES / name).write_text(draw(), encoding="utf-8")
