"""The display of a tournament: the table during play and at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deadheat.cli.console import err, short
from deadheat.cli.output import Column, Columns, places, table
from deadheat.cli.tournament.records import Request
from deadheat.cli.tournament.schedule import games_of
from deadheat.cli.tournament.standings import Score, Standings, flattery
from deadheat.engine.core import NS_PER_MS
from deadheat.engine.figures import counted, duration

if TYPE_CHECKING:
    from deadheat.league.ratings import Rating
    from deadheat.league.sprt import State

NAME_WIDTH = 20
REDRAW_SECONDS = 0.5

VERDICTS = {
    "accept": "accepted: {bot} is stronger by {elo1:g} normalised Elo or more (rather than by {elo0:g})",
    "reject": "rejected: {bot} is not stronger by {elo1:g} normalised Elo (but by {elo0:g} or less)",
    "continue": "undecided whether {bot} is stronger by {elo0:g} or by {elo1:g} normalised Elo",
}


def standings_table(standings: Standings, ratings: list[Rating]) -> Table:
    """Return the table of all bots, best first."""
    number = standings.numbers

    def faults(rating: Rating) -> Text:
        count = sum(standings.seen[number[rating.player]].faults.values())
        return Text(str(count), "red" if count else "")

    columns: Columns[Rating] = (
        Column("place", lambda r: places(r.place.low, r.place.high) if r.place else "", right=True),
        Column("bot", lambda r: short(r.player, NAME_WIDTH), whole=True),
        Column("rating", lambda r: f"{r.elo:.0f} ± {(r.high - r.low) / 2:.0f}", right=True),
        Column("games\nW/D/L", lambda r: _three(standings.total(number[r.player])), right=True),
    )
    if any(len(deal.table) == len(deal.games) == 2 for deal in standings.deals[:1]):
        columns += (Column("pairs\nW/D/L", lambda r: _three(standings.pairs(number[r.player])), right=True),)
    columns += (Column("faults", faults, right=True),)
    if any(seen.share for seen in standings.seen):
        columns += (Column("most of\na limit", lambda r: _percent(standings.seen[number[r.player]].share), right=True),)
    return table(ratings, columns)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _three(score: Score) -> str:
    return "/".join(map(str, score))


def sprt_line(request: Request, state: State) -> str:
    """Describe the state of the first bot's sequential test."""
    assert request.sprt is not None
    score = "" if state.score is None else f", score {100 * state.score:.1f} %"
    head = f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}] after {counted(state.games, 'game')}{score}"
    return f"{head}: {VERDICTS[state.verdict.value].format(bot=request.labels[0], **request.sprt)}"


def closing_lines(standings: Standings, choice: list[Rating]) -> Iterator[RenderableType]:
    """Yield the lines below the final table: faults by kind, the time that the host took, and the winner's curse if
    somebody may choose the best of these.
    """
    for label, seen in zip(standings.labels, standings.seen, strict=True):
        for what, count in sorted(seen.faults.items()):
            yield Text.assemble(f"{short(label, NAME_WIDTH)}: ", (f"{count} x {what}", "red"))
    if standings.unrated:
        yield f"{counted(standings.unrated, 'game')} without a winner, because all at the table committed faults."
    if standings.void_attempts:
        yield f"{counted(standings.void_attempts, 'attempt was', 'attempts were')} void because of this machine."
    host_ms = sum(seen.host_ms for seen in standings.seen)
    if host_ms:
        yield f"The host took {duration(round(host_ms * NS_PER_MS))} from the bots; limits apply to their own time."
    excess = flattery(choice)
    if excess is not None and excess >= 1:
        yield (
            f"The best of {len(choice)} looks better than it is: by about {excess:.0f} Elo here, because it was "
            "chosen for its result. Before you choose it, play it again with another --seed."
        )


@dataclass
class Screen:
    """The live table on stderr, if that is a terminal. It has no thread; `draw` draws it."""

    request: Request
    standings: Standings
    wanted: bool
    waits: tuple[str, ...] = ()
    _live: Live | None = None
    _began: float = field(default_factory=time.monotonic)
    _before: int = 0
    _next: float = 0.0

    def __enter__(self) -> Screen:
        self._before = len(self.standings.games)
        if self.wanted:
            self._live = Live(console=err, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def draw(self) -> None:
        """Draw the table, but not more often than a person can see."""
        if self._live is not None and time.monotonic() >= self._next:
            self._live.update(Group(*self._parts()), refresh=True)
            self._next = time.monotonic() + REDRAW_SECONDS

    def _parts(self) -> Iterator[RenderableType]:
        if self.standings.games:
            yield standings_table(self.standings, self.standings.ratings())
        if self.request.sprt is not None:
            yield Text(sprt_line(self.request, self.standings.test(self.request.sprt)))
        if self.waits:
            yield Text(f"waiting for processors. Taken: {'; '.join(self.waits)}", "magenta")
        yield Text(self.progress())

    def progress(self) -> str:
        """Return the number of games played, their pace, and the time that the rest will take."""
        played, planned = len(self.standings.games), games_of(self.standings.deals)
        seconds = time.monotonic() - self._began
        rate = (played - self._before) / seconds if seconds else 0.0
        open_end = self.request.sprt is not None or self.request.until is not None
        said = f"{played} of {'at most ' if open_end else ''}{counted(planned, 'game')}"
        if rate:
            said += f", {rate:.3g} a second, {'at most ' if open_end else ''}{_clock((planned - played) / rate)} left"
        return said


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
