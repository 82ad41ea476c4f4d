"""The part of a report about time: how long answers took, which would be late elsewhere, and what the host took.

The page's script answers "what if" from the data that `what_if` puts into the page: all own times, rounded to two
digits and counted, and for every game and seat the answer nearest to its limit, since one late answer loses a game. A
time bank is one limit for all answers of a game except READY: there the row `cli.local.report.BANK`, their sum, counts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from typing import Any

from deadheat.cli.local import page
from deadheat.cli.local.page import shown
from deadheat.cli.local.report import BANK, quantile
from deadheat.cli.output import Column, Columns
from deadheat.cli.tournament.records import Answers, GameRecord
from deadheat.cli.tournament.standings import Standings
from deadheat.engine.core import NS_PER_MS
from deadheat.engine.figures import counted, duration, limit
from deadheat.engine.own_time import WALL_CLOCK

READY = "READY"
"""The command for a program's start. It has its own limit, which the page's slider does not change."""

DOUBLINGS = 16
"""The picture's bars up to the limit, each with twice the share of the one before; one more holds late answers."""

BAR, HEIGHT = 6, 22


@dataclass
class Row:
    """A bot's answers to one command: own times in milliseconds, rounded, with counts."""

    bot: str
    command: str
    limit_ms: float = 0.0
    own_ms: Counter[float] = field(default_factory=Counter)

    def add(self, answers: Answers) -> None:
        self.limit_ms = max(self.limit_ms, answers.limit_ms)
        for value, count in answers.own_ms:
            self.own_ms[value] += count


def rows(played: Standings) -> list[Row]:
    collected: dict[tuple[str, str], Row] = {}
    for game in played.games.values():
        for seat, bot in enumerate(game.players):
            for command, answers in answers_of(game, seat, played.about.bank_ms).items():
                collected.setdefault((bot, command), Row(bot, command)).add(answers)
    order = played.numbers
    return sorted((row for row in collected.values() if row.own_ms), key=lambda row: order[row.bot])


def answers_of(game: GameRecord, seat: int, bank_ms: int | None) -> Mapping[str, Answers]:
    """Return a seat's answers by command. In a game with a time bank, add the use of its bank."""
    times = game.times[seat]
    if bank_ms is None:
        return times
    banked = [answers for command, answers in times.items() if command != READY]
    used_ms = sum(value * count for answers in banked for value, count in answers.own_ms)
    return {**times, BANK: Answers(bank_ms, [(float(f"{used_ms:.2g}"), 1)])}


def response_times(answered: Sequence[Row], played: Standings) -> Iterator[str]:
    """Show the controls of the question "what if", and the duration of each bot's answers."""
    limits = {
        row.command: max(other.limit_ms for other in answered if other.command == row.command) for row in answered
    }
    known = ", ".join(f"{shown(command)} {limit(round(ms * NS_PER_MS))}" for command, ms in limits.items())
    kind = WALL_CLOCK if played.about.time else "Own time, without what the host took"
    yield f"<p>{kind}. Limits: {known}.</p>\n"
    yield page.part("report-whatif.html")
    numbers = {id(row): number for number, row in enumerate(answered)}
    columns: Columns[Row] = (
        Column("Bot", lambda row: shown(row.bot)),
        Column("Command", lambda row: f"<code>{shown(row.command)}</code>"),
        Column("Answers", lambda row: f"{row.own_ms.total():,}", right=True),
        Column("Up to the limit", lambda row: _spark(row, numbers[id(row)])),
        Column("Median", lambda row: _ms(quantile(row.own_ms, 0.5)), right=True),
        Column("99 %", lambda row: _ms(quantile(row.own_ms, 0.99)), right=True),
        Column("Slowest", lambda row: _ms(max(row.own_ms)), right=True),
        Column("Of the limit", _used),
        Column("Late", lambda row: _late(row, numbers[id(row)]), right=True),
    )
    yield from page.table("Response times", answered, columns)
    yield '<p class="note">Bars: each is twice the share of the limit of the one before it, up to all of it; '
    yield "the line is the limit that you choose; red bars are past it.</p>\n"
    number = played.numbers
    costs: Columns[str] = (
        Column("Bot", shown),
        Column("Games", lambda bot: f"{played.seen[number[bot]].games:,}", right=True),
        Column("More lost by a late answer", lambda bot: f'<span data-lost="{number[bot]}">0</span>', right=True),
        Column("Of these won as played", lambda bot: f'<span data-won="{number[bot]}">0</span>', right=True),
    )
    yield from page.table("Games that late answers would cost", played.labels, costs)
    yield '<p class="note">A slower machine stretches every own time; another limit does not change READY. One late '
    yield "answer loses a game. Answers that were late as played stay late, because nobody knows when they would have "
    yield "come. Times are rounded to two digits.</p>\n"


def _spark(row: Row, number: int) -> str:
    heights = [0] * (DOUBLINGS + 1)
    for value, count in row.own_ms.items():
        heights[_bar(value, row.limit_ms)] += count
    most = max(heights)
    middle = quantile(row.own_ms, 0.99) / row.limit_ms if row.limit_ms else 0.0
    label = f"99 of 100 answers within {100 * middle:.3g} % of the limit"
    parts = [f'<svg class="spark" data-row="{number}" viewBox="0 0 {BAR * len(heights)} {HEIGHT}"']
    parts.append(f' width="{BAR * len(heights)}" height="{HEIGHT}" role="img" aria-label="{label}">')
    for place, count in enumerate(heights):
        if count:
            high = ceil((HEIGHT - 2) * count / most)
            late = ' class="over"' if place == DOUBLINGS else ""
            where = f'x="{BAR * place}" y="{HEIGHT - high}" width="5" height="{high}"'
            parts.append(f'<rect{late} data-bar="{place}" {where}/>')
    end = BAR * DOUBLINGS - 0.5
    return "".join(parts) + f'<line x1="{end}" x2="{end}" y1="0" y2="{HEIGHT}"/></svg>'


def _bar(own_ms: float, limit_ms: float) -> int:
    """Return the number of an answer's bar: bar k holds shares of the limit up to 2^(k + 1 - DOUBLINGS)."""
    if own_ms > limit_ms:
        return DOUBLINGS
    return max(0, DOUBLINGS - 1 + ceil(log2(own_ms / limit_ms))) if own_ms > 0 else 0


def _used(row: Row) -> str:
    share = max(row.own_ms) / row.limit_ms if row.limit_ms else 0.0
    percentage = f"{float(f'{100 * share:.2g}'):g} %" if share < 1 else f"{100 * share:.0f} %"
    meter = f'<meter min="0" max="1" high="0.8" value="{min(share, 1):.4f}">{percentage}</meter>'
    return f'<span class="interval">{meter} <span class="time">{percentage}</span></span>'


def _late(row: Row, number: int) -> str:
    late = sum(count for value, count in row.own_ms.items() if value > row.limit_ms)
    return f'<span data-late="{number}">{late:,}</span>'


def what_if(answered: Sequence[Row], played: Standings) -> Mapping[str, Any]:
    """Return the input of the page's script. Bots are numbers in the order of `played.labels`.

    `rows`: bot, command, limit and counted own times in milliseconds. `nearest`: for each bot and each game that it
    finished without a fault, the largest share of a limit that an answer used, the same for READY, and 1 if it won.
    """
    numbers = played.numbers
    nearest: list[list[tuple[float, float, int]]] = [[] for _ in numbers]
    for game in played.games.values():
        for seat, bot in enumerate(game.players):
            if not game.failed(seat):
                answers = answers_of(game, seat, played.about.bank_ms)
                counting = {BANK} if BANK in answers else answers.keys() - {READY}
                used = _largest(answers, counting), _largest(answers, {READY})
                nearest[numbers[bot]].append((*used, int(game.ranks[seat] == 1)))
    counted_rows = [[numbers[row.bot], row.command, row.limit_ms, sorted(row.own_ms.items())] for row in answered]
    return {"rows": counted_rows, "nearest": nearest, "ready": READY, "bank": BANK}


def _largest(times: Mapping[str, Answers], commands: set[str]) -> float:
    used = [
        value / answers.limit_ms
        for command, answers in times.items()
        if command in commands and answers.limit_ms
        for value, _ in answers.own_ms
    ]
    return float(f"{max(used, default=0.0):.3g}")


def host(played: Standings) -> Iterator[str]:
    taken = {label: seen.host_ms for label, seen in zip(played.labels, played.seen, strict=True)}
    total = sum(map(sum, taken.values()))
    words = "Nobody measured it." if played.about.time else "Nothing."
    if total:
        words = f"{_seconds(total)} in all. It was given back: limits apply to own time."
    yield f"<p>{words} {counted(played.void_attempts, 'void attempt', 'void attempts')}.</p>\n"
    if not total:
        return
    columns: Columns[str] = (
        Column("Bot", shown),
        Column("Taken", lambda bot: _seconds(sum(taken[bot])), right=True),
        Column("In games", lambda bot: f"{sum(map(bool, taken[bot])):,} of {len(taken[bot]):,}", right=True),
        Column("Most in a game", lambda bot: _seconds(max(taken[bot], default=0.0)), right=True),
    )
    yield from page.table("What the host took", played.labels, columns)


def _seconds(value_ms: float) -> str:
    return duration(round(value_ms * NS_PER_MS)) if value_ms else "0"


def _ms(value_ms: float) -> str:
    """Return a duration with two digits and its unit."""
    factor, unit = (0.001, "s") if value_ms >= 1000 else (1, "ms") if value_ms >= 0.1 or not value_ms else (1000, "µs")
    return f"{float(f'{value_ms * factor:.2g}'):g} {unit}"
